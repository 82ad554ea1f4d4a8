#include "runtime/Base/Seccomp.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
constexpr int kClone3 = 435, kCloseRange = 436, kFaccessat2 = 439,
              kFutexWaitv = 449, kFchmodat2 = 452;
#ifdef SYS_clone3
static_assert(SYS_clone3 == kClone3);
#endif
#ifdef SYS_close_range
static_assert(SYS_close_range == kCloseRange);
#endif
#ifdef SYS_faccessat2
static_assert(SYS_faccessat2 == kFaccessat2);
#endif
#ifdef SYS_futex_waitv
static_assert(SYS_futex_waitv == kFutexWaitv);
#endif
#ifdef SYS_fchmodat2
static_assert(SYS_fchmodat2 == kFchmodat2);
#endif

// The kernel's own header of terminals does not go with the system's.
constexpr uint32_t kTcgets2 = 0x802C542A;

// PR_SET_VMA, by which libraries name memory of theirs.
constexpr uint32_t kNameMemory = 0x53564d41;

// The newest call that this list knew of. A library must take those behind it
// for calls that the kernel lacks, and goes on with older ones.
constexpr int kNewest = kFchmodat2;

/// All that a run needs behind its start, and what the system's libraries do in
/// its name. Landlock says for which files.
constexpr int kAllowed[] = {
    // what is done most often: the filter goes through the list
    SYS_futex,
    SYS_read,
    SYS_write,
    SYS_sendmsg,
    SYS_sendto,
    SYS_recvmsg,
    SYS_recvfrom,
    SYS_sched_yield,
    SYS_clock_gettime,
    SYS_pread64,
    SYS_pwrite64,
    // memory
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_msync,
    SYS_mincore,
    SYS_mlock,
    SYS_mlock2,
    SYS_munlock,
    SYS_membarrier,
    SYS_memfd_create,
    SYS_mbind,
    SYS_get_mempolicy,
    SYS_set_mempolicy,
    // files
    SYS_openat,
    SYS_close,
    kCloseRange,
    SYS_readv,
    SYS_writev,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    kFaccessat2,
    SYS_readlinkat,
    SYS_getdents64,
    SYS_getcwd,
    SYS_umask,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_readahead,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync_file_range,
    SYS_sendfile,
    SYS_copy_file_range,
    SYS_flock,
    SYS_fcntl,
    SYS_ioctl,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    // connections that there are, and waiting
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    // threads
    SYS_clone,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_gettid,
    SYS_exit,
    SYS_exit_group,
    kFutexWaitv,
    SYS_getcpu,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_getattr,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_setaffinity,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_prctl,
    // signals to itself
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigpending,
    SYS_rt_sigreturn,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_kill,
    SYS_tgkill,
    // time, and what it is and where
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_times,
    SYS_getrusage,
    SYS_prlimit64,
    SYS_getrandom,
    SYS_uname,
    SYS_sysinfo,
    SYS_getpid,
    SYS_getppid,
    SYS_getpgid,
    SYS_getsid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
#ifdef SYS_fork // of machines with a longer history
    SYS_arch_prctl,
    SYS_open,
    SYS_creat,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_getdents,
    SYS_mkdir,
    SYS_rmdir,
    SYS_unlink,
    SYS_link,
    SYS_symlink,
    SYS_rename,
    SYS_dup2,
    SYS_pipe,
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_getpgrp,
    SYS_getrlimit,
    SYS_time,
#endif
};

// A thread in a world of its own is not of this process alone.
constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP |
                                    CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr uint32_t kForbid = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kLacks = SECCOMP_RET_ERRNO | ENOSYS;

constexpr uint32_t lowerHalf(int argument) {
  return uint32_t(offsetof(seccomp_data, args) + 8 * size_t(argument));
}

/// Refuses all that it is not told to allow. A refusal by an argument stands in
/// front of that.
class Filter {
public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    // Another machine's calls, 32 bits wide, have other numbers.
    test(BPF_JEQ, kMachine, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    loadCall();
    // x32's are among them.
    test(BPF_JGT, kNewest, 0, 1);
    add(BPF_RET | BPF_K, kLacks);
  }

  void allow(int call) { answer(call, SECCOMP_RET_ALLOW); }
  void lack(int call) { answer(call, kLacks); }

  /// Where argument number `argument` has this value, or, with BPF_JSET, any of
  /// its bits; with `holds` false, where it has not.
  void refuse(int call, int argument, int how, uint32_t value, bool holds) {
    test(BPF_JEQ, uint32_t(call), 0, 4);
    load(lowerHalf(argument));
    test(how, value, holds ? 0 : 1, holds ? 1 : 0);
    add(BPF_RET | BPF_K, kForbid);
    loadCall();
  }

  /// Where the argument has none of these values.
  void refuseOthers(int call, int argument,
                    std::initializer_list<uint32_t> values) {
    auto left = uint8_t(values.size());
    test(BPF_JEQ, uint32_t(call), 0, uint8_t(left + 3));
    load(lowerHalf(argument));
    for (uint32_t value : values)
      test(BPF_JEQ, value, left--, 0);
    add(BPF_RET | BPF_K, kForbid);
    loadCall();
  }

  /// Where the argument has this value, and the next one any of these bits.
  void refuseBits(int call, int argument, uint32_t value, uint32_t bits) {
    test(BPF_JEQ, uint32_t(call), 0, 6);
    load(lowerHalf(argument));
    test(BPF_JEQ, value, 0, 3);
    load(lowerHalf(argument + 1));
    test(BPF_JSET, bits, 0, 1);
    add(BPF_RET | BPF_K, kForbid);
    loadCall();
  }

  Status install() {
    add(BPF_RET | BPF_K, kForbid);
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
  void load(size_t place) { add(BPF_LD | BPF_W | BPF_ABS, uint32_t(place)); }
  void loadCall() { load(offsetof(seccomp_data, nr)); }
  /// How many instructions to leave out where it holds, and where not.
  void test(int how, uint32_t value, uint8_t yes, uint8_t no) {
    program.push_back(BPF_JUMP(
        static_cast<unsigned short>(BPF_JMP | how | BPF_K), value, yes, no));
  }
  void answer(int call, uint32_t what) {
    test(BPF_JEQ, uint32_t(call), 0, 1);
    add(BPF_RET | BPF_K, what);
  }

  std::vector<sock_filter> program;
};

/// A descriptor can signal whom it is told to, as kill does.
void refuseSignals(Filter &filter) {
  const uint32_t self = uint32_t(::getpid());
  filter.refuse(SYS_kill, 0, BPF_JEQ, self, /*holds=*/false);
  filter.refuse(SYS_tgkill, 0, BPF_JEQ, self, /*holds=*/false);
  // Not F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY; nor a terminal's own choice.
  filter.refuseOthers(SYS_fcntl, 1,
                      {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK,
                       F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK,
                       F_OFD_SETLKW, F_DUPFD_CLOEXEC, F_GET_SEALS,
                       F_ADD_SEALS});
  filter.refuseBits(SYS_fcntl, 1, F_SETFL, O_ASYNC);
  // Not FIOSETOWN, FIOASYNC; nor words put into the terminal's own mouth.
  filter.refuseOthers(SYS_ioctl, 1, {TCGETS, kTcgets2, TIOCGWINSZ, FIONREAD});
}

} // namespace

Status forbidCalls() {
  Filter filter;
  // Its arguments lie in memory, where no filter sees them; libraries then take
  // the older call.
  filter.lack(kClone3);
  filter.refuse(SYS_clone, 0, BPF_JSET, CLONE_THREAD, /*holds=*/false);
  filter.refuse(SYS_clone, 0, BPF_JSET, kNewNamespaces, /*holds=*/true);
  refuseSignals(filter);
  // A socket whose connection has ended must begin no other.
  filter.refuse(SYS_sendto, 3, BPF_JSET, MSG_FASTOPEN, /*holds=*/true);
  filter.refuse(SYS_sendmsg, 2, BPF_JSET, MSG_FASTOPEN, /*holds=*/true);
  // Limits and processors of this process alone.
  for (int call : {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler,
                   SYS_sched_setparam, SYS_sched_setattr})
    filter.refuse(call, 0, BPF_JEQ, 0, /*holds=*/false);
  filter.refuseOthers(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, kNameMemory});
  for (int call : kAllowed)
    filter.allow(call);
  return filter.install();
}

} // namespace zc
