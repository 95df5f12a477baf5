// SPDX-License-Identifier: BSD-3-Clause
#include "transport/kcoll_status.h"

#include <cerrno>

namespace coll::transport {

const char* name(KcollStatus status) {
  switch (status) {
    case KcollStatus::ok: return "ok";
    case KcollStatus::absent: return "absent";
    case KcollStatus::no_permission: return "no_permission";
    case KcollStatus::mismatch: return "mismatch";
    case KcollStatus::inherited: return "inherited";
    case KcollStatus::taken: return "taken";
    case KcollStatus::stale: return "stale";
    case KcollStatus::gone: return "gone";
    case KcollStatus::no_allowance: return "no_allowance";
    case KcollStatus::out_of_range: return "out_of_range";
    case KcollStatus::unsuitable: return "unsuitable";
    case KcollStatus::bad_address: return "bad_address";
    case KcollStatus::failed: return "failed";
  }
  return "failed";
}

std::string kcoll_hint(KcollStatus status) {
  switch (status) {
    case KcollStatus::ok: return "";
    case KcollStatus::absent: return "/dev/kcoll does not exist; load the kernel module: modprobe kcoll";
    case KcollStatus::no_permission:
      return "this user may not open /dev/kcoll, or may not access the region so; ask the administrator to install the "
             "udev rule and to add the user to its group, and run all ranks as one user in one user namespace";
    case KcollStatus::mismatch:
      return "the loaded kcoll module has another interface version than this library; install both from one release";
    case KcollStatus::inherited: return "the kcoll descriptor belongs to the parent process; open it after fork()";
    case KcollStatus::taken:
      return "the kcoll descriptor belongs to another domain; join before anything is registered";
    case KcollStatus::stale: return "the owner remapped the region's memory; attach to the region again";
    case KcollStatus::gone: return "the region was unregistered or its owner has exited";
    case KcollStatus::no_allowance:
      return "the limit on pinned memory is reached; raise the limit on locked memory (ulimit -l) or the module's "
             "max_pinned_mb";
    case KcollStatus::out_of_range: return "the access extends beyond the end of the region";
    case KcollStatus::unsuitable:
      return "kcoll cannot register or map this memory: it belongs to a file or device, or is not made of whole pages";
    case KcollStatus::bad_address:
      return "an address of the copy is not mapped, in this process or in the region's owner";
    case KcollStatus::failed: return "the kernel module reported an unexpected error; dmesg may show the reason";
  }
  return "";
}

KcollStatus kcoll_status_of(int error) {
  switch (error) {
    case 0: return KcollStatus::ok;
    case ENOENT:
    case ESRCH: return KcollStatus::gone;
    case EACCES: return KcollStatus::no_permission;
    // From commands and mmap() on a descriptor that another process opened.
    case EPERM: return KcollStatus::inherited;
    case EBUSY: return KcollStatus::taken;
    case ESTALE: return KcollStatus::stale;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EDQUOT: return KcollStatus::no_allowance;
    case ERANGE: return KcollStatus::out_of_range;
    case EOPNOTSUPP: return KcollStatus::unsuitable;
    case EFAULT: return KcollStatus::bad_address;
    case ENOTTY:
    case E2BIG: return KcollStatus::mismatch;
    default: return KcollStatus::failed;
  }
}

int errno_of(KcollStatus status) {
  switch (status) {
    case KcollStatus::ok: return 0;
    case KcollStatus::absent: return ENODEV;
    case KcollStatus::no_permission: return EACCES;
    case KcollStatus::mismatch: return ENOTTY;
    case KcollStatus::inherited: return EPERM;
    case KcollStatus::taken: return EBUSY;
    case KcollStatus::stale: return ESTALE;
    case KcollStatus::gone: return ESRCH;
    case KcollStatus::no_allowance: return ENOMEM;
    case KcollStatus::out_of_range: return ERANGE;
    case KcollStatus::unsuitable: return EOPNOTSUPP;
    case KcollStatus::bad_address: return EFAULT;
    case KcollStatus::failed: return EIO;
  }
  return EIO;
}

}  // namespace coll::transport
