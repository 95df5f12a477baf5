/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KCOLL_COPY_H
#define _KCOLL_COPY_H

#include <uapi/kcoll.h>

struct context;

int copy_run(struct context *ctx, struct kcoll_copy *args, bool may_sleep);
int copy2_run(struct context *ctx, struct kcoll_copy2 *args, bool may_sleep);
int copy_batch(struct context *ctx, struct kcoll_batch *args);

#endif
