/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_NOTE_H
#define _KCOLL_NOTE_H

#include <linux/hash.h>
#include <linux/sched.h>

#include "region.h"

/**
 * note_leave() - leaves a note for the fault that this task will repeat
 * @region: the region
 * @address: the owner's, of the page
 * @err: what the attempt to pin it ended with
 * @until: jiffies; not 0: the wait for a page that others hold goes on until then
 *
 * A note says what a task's attempt to pin for an address ended with, for the fault that it repeats
 * then; or until when it goes on waiting for a page that others hold, if a signal ended the attempt
 * (err is 0). There are few: a note that others displace makes its fault try once more.
 */
static inline void note_leave(struct kcoll_region *region, unsigned long address, int err,
			      unsigned long until)
{
	struct kcoll_fault_note *note =
		&region->notes[hash_long(address ^ (unsigned long)current, NOTE_BITS)];

	spin_lock(&region->lock);
	*note = (struct kcoll_fault_note){
		.task = current, .address = address, .err = err, .until = until
	};
	spin_unlock(&region->lock);
}

/**
 * note_take() - takes the note of this task and address away
 * @region: the region
 * @address: the owner's, of the page
 *
 * Return: the note; all 0: there is none.
 */
static inline struct kcoll_fault_note note_take(struct kcoll_region *region, unsigned long address)
{
	struct kcoll_fault_note taken = {};
	struct kcoll_fault_note *note =
		&region->notes[hash_long(address ^ (unsigned long)current, NOTE_BITS)];

	spin_lock(&region->lock);
	if (note->task == current && note->address == address) {
		taken = *note;
		note->task = NULL;
	}
	spin_unlock(&region->lock);
	return taken;
}

#endif
