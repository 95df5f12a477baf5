/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KCOLL_FAULT_H
#define _KCOLL_FAULT_H

#include <linux/mm_types.h>

vm_fault_t kcoll_fault_serve(struct vm_fault *vmf);
vm_fault_t kcoll_fault_serve_quiet(struct vm_fault *vmf);
vm_fault_t kcoll_fault_serve_huge(struct vm_fault *vmf, unsigned int order);

#endif
