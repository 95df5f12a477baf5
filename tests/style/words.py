# SPDX-License-Identifier: BSD-3-Clause
"""Words that the project does not use, each with what to write instead.

Only words without a lawful use are listed. Words that are right in one sense and wrong in another ("tells", "lies",
"peer", "piece", "take", "by hand") are left to readers."""

# In documents, comments and messages. A space stands for any white space, also a line break.

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
    (r"hand(s|ed|ing)? (it |them )?over", "pass, broadcast"),
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

# In names of code and of its files: whole words of a name, which CamelCase and snake_case divide.
NAME_WORDS = [
    ("nobody|somebody|anybody|everybody|whoever", "the role: no_rank, all_ranks, caller"),
    ("crowd|crowds|crowded|crowding", "oversubscribed"),
    ("groups_apart", "scheduler_groups"),
    ("way|ways", "method, candidate, alternative, path, variant"),
    ("contest|contests|heats", "comparison, candidates, rounds, phases"),
    ("doomed", "dying"),
    ("graveyard|grave|bury|buried", "retire, deferred"),
    ("patience|ladder|rung|climb", "backoff, stage, timeout"),
    ("tell|tells|told", "print, report, return"),
    ("judge|judges|judged", "check, evaluate, summarize"),
    ("settle|settles|settled", "fence, finish, update"),
    ("mend|mends|remedy", "fix, hint"),
    ("distant", "far"),
    ("walk_bytes", "window_bytes"),
    ("asked_ahead", "prefetched"),
    ("hand_over|handed_over", "pass"),
    ("question|questions", "request, query, situation"),
    ("vain", "useless, skipped"),
    ("lie|lies", "is_in, resides"),
]

# Names in which a word of NAME_WORDS is the field's: a one-way latency, "under way".
FIELD_NAMES = ("one_way", "under_way")

# (place, word or whole name, reason): faults that are allowed in files whose path begins with `place`. "*" is every word. An
# entry that allows nothing is a fault itself: remove it.
EXCEPTIONS = [
    ("kmod/", "*", "the kernel module keeps the names of its interface until its next version"),
    ("tests/style/", "*", "the list itself and its tests"),
    ("lib/comm/bound_plans", "ways", "of a set-associative cache"),
    ("lib/comm/bound_plans", "way", "likewise"),
    ("tests/comm/bound_plans", "ways", "as of a set-associative cache"),
    ("tests/kmod/install-in-vm.sh", "settle", "a command of udevadm"),
    ("tests/tools/calibrate_in_vm.py", "nobody", "the name of a user"),
    # The rest is to be renamed, and then removed here, entry by entry.
    ("lib/", "way", "names"),
    ("lib/", "ways", "names"),
]
