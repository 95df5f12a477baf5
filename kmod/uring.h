/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_URING_H
#define _KCOLL_URING_H

struct io_uring_cmd;

int kcoll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#endif
