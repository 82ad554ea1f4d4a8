#include "runtime/Base/Seccomp.h"

#include <cerrno>
#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace zc {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
#error "the numbers of calls are those of a machine"
#endif

// Numbers that are the same on every machine, of calls newer than some headers.
constexpr int kIoUringSetup = 425, kIoUringEnter = 426, kIoUringRegister = 427,
              kOpenTree = 428, kMoveMount = 429, kFsopen = 430, kFsmount = 432,
              kPidfdOpen = 434, kClone3 = 435, kPidfdGetfd = 438,
              kFchmodat2 = 452;

/// Whatever their arguments are.
constexpr int kForbidden[] = {
    // connections
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    kIoUringSetup,
    kIoUringEnter,
    kIoUringRegister,
    // programs, and other processes
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_send_signal,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_semget,
    SYS_inotify_init1,
    SYS_inotify_add_watch,
    SYS_fanotify_init,
    kPidfdOpen,
    kPidfdGetfd,
    SYS_kcmp,
    SYS_setns,
    SYS_unshare,
    SYS_setpriority,
    // files, past their paths, and rights
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    kOpenTree,
    kMoveMount,
    kFsopen,
    kFsmount,
    SYS_fchmod,
    SYS_fchmodat,
    kFchmodat2,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_fremovexattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_utimensat,
    SYS_setuid,
    SYS_setgid,
    // the kernel
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_sethostname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
#ifdef SYS_fork // of machines with a longer history
    SYS_inotify_init,
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_mknod,
    SYS_ioperm,
    SYS_iopl,
#endif
};

constexpr uint32_t kForbid = SECCOMP_RET_ERRNO | EPERM;

constexpr uint32_t lowerHalf(int argument) {
  return uint32_t(offsetof(seccomp_data, args) + 8 * size_t(argument));
}

class Filter {
public:
  Filter() {
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    // Another machine's calls, 32 bits wide, have other numbers.
    skipIf(BPF_JEQ, kMachine, 1);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
    add(BPF_RET | BPF_K, kForbid); // x32's
#endif
  }

  void forbid(int call, uint32_t answer = kForbid) {
    program.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(call), 0, 1));
    add(BPF_RET | BPF_K, answer);
  }

  /// Where argument number `argument` has this value, or, with BPF_JSET, any of
  /// its bits; with `holds` false, where it has not.
  void forbidWhere(int call, int argument, uint16_t test, uint32_t value,
                   bool holds) {
    program.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(call), 0, 4));
    add(BPF_LD | BPF_W | BPF_ABS, lowerHalf(argument));
    skipIf(test, value, 1);
    add(BPF_RET | BPF_K, holds ? SECCOMP_RET_ALLOW : kForbid);
    add(BPF_RET | BPF_K, holds ? kForbid : SECCOMP_RET_ALLOW);
  }

  Status install() {
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog filter = {static_cast<unsigned short>(program.size()),
                               program.data()};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                  SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
      return errnoError("--sandbox: this kernel has no seccomp that can");
    return Status();
  }

private:
  void add(int code, uint32_t value) {
    program.push_back(BPF_STMT(static_cast<unsigned short>(code), value));
  }
  void skipIf(int test, uint32_t value, uint8_t count) {
    program.push_back(BPF_JUMP(
        static_cast<unsigned short>(BPF_JMP | test | BPF_K), value, count, 0));
  }

  std::vector<sock_filter> program;
};

} // namespace

Status forbidCalls() {
  Filter filter;
  for (int call : kForbidden)
    filter.forbid(call);
  // Its arguments lie in memory, where no filter sees them; libraries then take
  // the older call.
  filter.forbid(kClone3, SECCOMP_RET_ERRNO | ENOSYS);
  filter.forbidWhere(SYS_clone, 0, BPF_JSET, CLONE_THREAD, /*holds=*/false);
  const uint32_t self = uint32_t(::getpid());
  filter.forbidWhere(SYS_kill, 0, BPF_JEQ, self, /*holds=*/false);
  filter.forbidWhere(SYS_tgkill, 0, BPF_JEQ, self, /*holds=*/false);
  filter.forbid(SYS_tkill);
  // Limits and processors of this process alone.
  for (int call : {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler,
                   SYS_sched_setparam, SYS_sched_setattr})
    filter.forbidWhere(call, 0, BPF_JEQ, 0, /*holds=*/false);
  // Words put into the terminal's own mouth.
  filter.forbidWhere(SYS_ioctl, 1, BPF_JEQ, TIOCSTI, /*holds=*/true);
  return filter.install();
}

} // namespace zc
