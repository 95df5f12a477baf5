/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_COPY_H
#define _KCOLL_COPY_H

#include <uapi/kcoll.h>

struct kcoll_context;

int kcoll_copy_run(struct kcoll_context *ctx, struct kcoll_copy *args, bool may_sleep);
int kcoll_copy2_run(struct kcoll_context *ctx, struct kcoll_copy2 *args, bool may_sleep);
int kcoll_copy_batch(struct kcoll_context *ctx, struct kcoll_batch *args);

#endif
