# SPDX-License-Identifier: BSD-3-Clause
"""Words that prose does not use, each with what to write instead. A space stands for any white space, also a line break.

Only words without a lawful use are listed. Words that are right in one sense and wrong in another ("tells", "lies",
"peer", "by hand") are left to readers."""

PRIVATE_WORDS = [
    # Pronouns without an actor.
    (r"nobody|no-one", "no rank, no process, or the negated verb"),
    (r"somebody|anybody", "another rank, any process, a user"),
    (r"everybody", "all ranks, all users"),
    (r"whoever|whosoever", "the rank that ..., any process that ..."),
    # The project's private words for things that have a name.
    (r"crowd|crowds|crowded|crowding", "oversubscribed, oversubscription"),
    (r"ranks that share (cores|processors)", "oversubscribed ranks"),
    (r"distant", "far (cores), cross-LLC"),
    (r"past the caches?", "with non-temporal stores"),
    (r"(take|takes|taken|took|taking) back", "regain ownership (of a cache line), remove, revoke"),
    (r"lines? (that )?(come|comes|came) back", "read-for-ownership, regain ownership"),
    (r"ask(s|ed|ing)? (for )?(lines )?ahead|asked for ahead", "prefetch for write"),
    (r"hand(s|ed|ing)? (it |them )?over", "pass, broadcast, demote (CLDEMOTE)"),
    (r"passed on", "forwarded"),
    (r"libraries below|library below|MPI below", "the underlying MPI library"),
    (r"heats", "rounds"),
    (r"graveyard|graveyards", "deferred reclamation"),
    (r"the texts", "the papers, the literature"),
    (r"(go|goes|went) (both ways|this way|the other way)", "use either method, use the alternative"),
    (r"ways? (it|they) (may |can )?(go|goes)", "alternative, candidate, method"),
    # Phrases that are not the field's.
    (r"by the clock", "measured at run time"),
    (r"(quarter|tenth|third|half) of the clock", "within 25 % (10 %, ...) of the measured time"),
    (r"now and then", "periodically"),
    (r"mend|mends|mended|mending", "fix"),
    (r"remedy|remedies", "fix, hint, suggested action"),
    (r"told", "reported, printed, returned, informed"),
    (r"in vain", "without success, useless"),
    (r"for ever", "indefinitely, without end"),
    (r"(say|says|said|tell|tells) nothing (of|about)", "does not predict, does not show"),
    (r"at odds", "inconsistent, different"),
    (r"fares? alike", "treated identically"),
    (r"the machine at hand", "this machine, the development machine"),
]
