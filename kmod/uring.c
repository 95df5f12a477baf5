// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same commands through io_uring.
 *
 * Small copies whose pages are pinned run where they are submitted; all else asks to be moved to a
 * worker (-EAGAIN), which calls us again. The answer always goes through io_uring_cmd_done(): on
 * some kernels a positive return value from a worker never completes the command.
 */
#include <linux/uaccess.h>

#include "compat.h"
#include "copy.h"
#include "device.h"
#include "params.h"
#include "trace.h"
#include "uring.h"

#define COMMAND_BYTES sizeof(struct kcoll_uring_bytes)

union kcoll_command {
	struct kcoll_copy copy;
	struct kcoll_copy2 copy2;
	struct kcoll_register reg;
	u8 bytes[COMMAND_BYTES];
	struct {
		u32 size, flags;
	};
};

/* Exactly the size that this kernel knows: the rest of the command area has no rule of its own. */
static bool size_is(const union kcoll_command *command, size_t size)
{
	return command->size == size && !memchr_inv(command->bytes + size, 0, COMMAND_BYTES - size);
}

/* What was copied counts more than why it ended, as with read(). */
static ssize_t outcome(u64 done, int err)
{
	return err == -EAGAIN || !done ? err : done;
}

static ssize_t run_copy(struct kcoll_context *ctx, struct kcoll_copy *args, bool inline_now)
{
	int err;

	if (!(args->flags & KCOLL_VECTOR) && args->len > MAX_RW_COUNT)
		return -EINVAL;
	if (inline_now &&
	    ((args->flags & KCOLL_VECTOR) || args->len > READ_ONCE(kcoll_param_uring_inline_max)))
		return -EAGAIN;
	err = kcoll_copy_run(ctx, args, !inline_now);
	return err == -ESTALE ? err : outcome(args->done, err);
}

static ssize_t run_copy2(struct kcoll_context *ctx, struct kcoll_copy2 *args, bool inline_now)
{
	int err;

	if (args->len > MAX_RW_COUNT)
		return -EINVAL;
	if (inline_now && args->len > READ_ONCE(kcoll_param_uring_inline_max))
		return -EAGAIN;
	err = kcoll_copy2_run(ctx, args, !inline_now);
	return err == -ESTALE ? err : outcome(args->done, err);
}

static ssize_t run_register(struct kcoll_context *ctx, const struct kcoll_register *args,
			    bool inline_now)
{
	u64 cookie;

	if (inline_now)
		return -EAGAIN;
	if (!args->cookie_ptr)
		return -EINVAL;
	return kcoll_register_region(ctx, args, &cookie);
}

static ssize_t run(struct kcoll_context *ctx, u32 op, union kcoll_command *command, bool inline_now)
{
	switch (op) {
	case KCOLL_COPY:
		return size_is(command, sizeof(command->copy)) ?
			       run_copy(ctx, &command->copy, inline_now) :
			       -EINVAL;
	case KCOLL_COPY2:
		return size_is(command, sizeof(command->copy2)) ?
			       run_copy2(ctx, &command->copy2, inline_now) :
			       -EINVAL;
	case KCOLL_REGISTER:
		return size_is(command, sizeof(command->reg)) ?
			       run_register(ctx, &command->reg, inline_now) :
			       -EINVAL;
	default:
		return -ENOTTY;
	}
}

/**
 * kcoll_uring_cmd() - a command through io_uring
 * @cmd: the command
 * @issue_flags: of io_uring
 *
 * Return: -EIOCBQUEUED, -EAGAIN (call again from a worker) or an errno.
 */
int kcoll_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct kcoll_context *ctx = cmd->file->private_data;
	bool inline_now = issue_flags & IO_URING_F_NONBLOCK;
	union kcoll_command command;
	ssize_t ret;

	if (!(issue_flags & IO_URING_F_SQE128))
		return -EINVAL;
	if (!context_is_ours(ctx))
		return -EPERM;
	/* Registered buffers are not looked at: no caller shall believe that they are. */
	if (cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	/* Once: the submitter may change it under us. */
	memcpy(&command, kcoll_uring_payload(cmd), sizeof(command));
	ret = run(ctx, cmd->cmd_op, &command, inline_now);
	if (inline_now && ret == -EAGAIN)
		return -EAGAIN;
	trace_kcoll_uring(cmd->cmd_op, inline_now, ret);
	kcoll_uring_done(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}
