/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_NOTE_H
#define _KCOLL_NOTE_H

#include <linux/hash.h>
#include <linux/sched.h>

#include "region.h"

/*
 * Notes: what a task's attempt to pin for an address ended with, for the fault that it repeats
 * then. There are few: a note that others displace makes its fault try once more.
 */
static inline void note_leave(struct kcoll_region *region, unsigned long address, int err)
{
	struct kcoll_fault_note *note =
		&region->notes[hash_long(address ^ (unsigned long)current, NOTE_BITS)];

	spin_lock(&region->lock);
	*note = (struct kcoll_fault_note){ .task = current, .address = address, .err = err };
	spin_unlock(&region->lock);
}

/* Takes the note of this task and address away; 0: there is none. */
static inline int note_take(struct kcoll_region *region, unsigned long address)
{
	struct kcoll_fault_note *note =
		&region->notes[hash_long(address ^ (unsigned long)current, NOTE_BITS)];
	int err = 0;

	spin_lock(&region->lock);
	if (note->task == current && note->address == address) {
		err = note->err;
		note->task = NULL;
	}
	spin_unlock(&region->lock);
	return err;
}

#endif
