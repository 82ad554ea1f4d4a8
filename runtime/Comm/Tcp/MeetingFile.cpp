#include "runtime/Comm/Tcp/MeetingFile.h"
#include "runtime/Base/File.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace zc::tcp {
namespace {

constexpr const char *kWord = "zc-ranks"; // tells our file from others
constexpr std::chrono::milliseconds kRetry(50), kTryTime(500);

std::string hostName() {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  return host;
}

Status cannotWrite(const std::string &path) {
  return errnoError("'" + path + "' (ZC_RENDEZVOUS_FILE)");
}

} // namespace

MeetingFile::~MeetingFile() {
  if (written)
    ::unlink(path.c_str());
}

/// Others never see half of it: it is renamed into place. Neither the draft nor
/// the name follows a link that somebody has planted in a folder of all.
Status MeetingFile::write(const std::string &address, int port) {
  std::string draft = path + ".XXXXXX";
  int descriptor = ::mkostemp(draft.data(), O_CLOEXEC);
  if (descriptor < 0)
    return cannotWrite(path);
  const TemporaryName unfinished(draft);
  const std::string text = strCat(
      kWord, " ", address.empty() ? hostName() : address, " ", port, "\n");
  Status status = writeAll(descriptor, text.data(), text.size(), path);
  ::fchmod(descriptor, 0644); // for ranks of other users, as on some clusters
  if ((::close(descriptor) != 0 ||
       std::rename(draft.c_str(), path.c_str()) != 0) &&
      status.ok())
    status = cannotWrite(path);
  if (!status.ok())
    ::unlink(draft.c_str());
  if (status.ok())
    written.emplace(path);
  return status;
}

/// The content of the file, if it is a regular file: no link, and no pipe that
/// would block.
static std::string readMeeting(const std::string &path) {
  char text[512];
  int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  struct stat info;
  ssize_t count = descriptor >= 0 && ::fstat(descriptor, &info) == 0 &&
                          S_ISREG(info.st_mode)
                      ? ::read(descriptor, text, sizeof(text))
                      : -1;
  if (descriptor >= 0)
    ::close(descriptor);
  return std::string(text, size_t(std::max<ssize_t>(0, count)));
}

Result<Socket> callByFile(const std::string &path, Clock::time_point deadline) {
  Status why =
      makeError(StatusCode::DeadlineExceeded, "rank 0 has not written '", path,
                "' (ZC_RENDEZVOUS_FILE)");
  while (true) {
    std::istringstream file(readMeeting(path));
    std::string word, host;
    int port = 0;
    if (file >> word >> host >> port && word == kWord) {
      // A host need not know itself by its name.
      auto socket = connectTo(host == hostName() ? "localhost" : host, port,
                              std::min(deadline, Clock::now() + kTryTime));
      if (socket.ok())
        return socket;
      why = socket.status().withContext(
          strCat("at ", host, ":", port, ", as '", path, "' says"));
    }
    if (Clock::now() + kRetry >= deadline)
      return why;
    std::this_thread::sleep_for(kRetry);
  }
}

} // namespace zc::tcp
