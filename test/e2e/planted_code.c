// Code of an artifact that somebody has planted: what it tries the moment it is
// loaded. It says on standard error what came of each.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *what, long result) {
  dprintf(2, "planted %s: %s\n", what, result < 0 ? strerror(errno) : "done");
}

static int try_program(void) {
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  return child < 0 ? -1 : waitpid(child, NULL, 0);
}

static int try_connection(void) {
  const int line = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((unsigned short)atoi(getenv("ZC_PLANTED_PORT")));
  if (line < 0)
    return -1;
  return connect(line, (struct sockaddr *)&address, sizeof(address));
}

/// Rights of a file that it may write to.
static int try_rights(void) {
  const int file = open(getenv("ZC_PLANTED_OWN"), O_RDWR | O_CREAT, 0600);
  return file < 0 ? 0 : fchmod(file, 04777);
}

/// The same by calls of newer kernels, whose numbers all machines share: an
/// attribute, where lists of rights lie as well, and flags.
static long try_attribute(void) {
  struct {
    uint64_t value;
    uint32_t size, flags;
  } given = {(uint64_t)(uintptr_t) "x", 1, 0};
  return syscall(463, AT_FDCWD, getenv("ZC_PLANTED_OWN"), 0, "user.planted",
                 &given, sizeof(given)); // setxattrat
}

static long try_flags(void) {
  const uint64_t given[3] = {0, 0, 0};
  return syscall(469, AT_FDCWD, getenv("ZC_PLANTED_OWN"), given, sizeof(given),
                 0); // file_setattr
}

/// A pipe that signals another process once it is written to.
static int try_owner(void) {
  int ends[2];
  return pipe(ends) < 0 ? -1 : fcntl(ends[0], F_SETOWN, getppid());
}

static int try_async(void) {
  int ends[2];
  return pipe(ends) < 0 ? -1 : fcntl(ends[0], F_SETFL, O_ASYNC);
}

static long try_priority(void) {
  const int process = 1, best_effort = 2 << 13 | 4;
  return syscall(SYS_ioprio_set, process, getppid(), best_effort);
}

static long try_user(void) { return syscall(SYS_setresuid, -1, -1, -1); }

static long try_queue(void) {
  return syscall(SYS_mq_open, "planted", O_RDWR | O_CREAT, 0600, NULL);
}

/// What whoever started the program had open.
static int try_inherited(void) {
  return (int)write(atoi(getenv("ZC_PLANTED_DESCRIPTOR")), "x", 1);
}

__attribute__((constructor)) static void planted(void) {
  const char *folder = getenv("ZC_PLANTED_FOLDER");
  char secret[4096], made[4096], link[4096];
  snprintf(secret, sizeof(secret), "%s/secret", folder);
  snprintf(made, sizeof(made), "%s/made", folder);
  snprintf(link, sizeof(link), "%s/link", folder);
  tell("read", open(secret, O_RDONLY));
  tell("write", open(secret, O_WRONLY));
  tell("create", open(made, O_WRONLY | O_CREAT, 0666));
  tell("truncate", truncate(secret, 0));
  tell("remove", unlink(secret));
  tell("rename", rename(secret, made));
  tell("link", symlink("/etc/passwd", link));
  tell("mode", chmod(secret, 0777));
  tell("rights", try_rights());
  tell("inherited", try_inherited());
  tell("socket", socket(AF_INET, SOCK_STREAM, 0));
  tell("connect", try_connection());
  tell("fork", try_program());
  tell("signal", kill(getppid(), 0));
  tell("attribute", try_attribute());
  tell("flags", try_flags());
  tell("owner", try_owner());
  tell("async", try_async());
  tell("priority", try_priority());
  tell("user", try_user());
  tell("queue", try_queue());
}
