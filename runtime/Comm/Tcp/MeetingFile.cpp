#include "runtime/Comm/Tcp/MeetingFile.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
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

/// Others never see half of it: it is renamed into place.
Status MeetingFile::write(int port) {
  const std::string draft = path + "." + std::to_string(::getpid());
  std::FILE *file = std::fopen(draft.c_str(), "w");
  if (!file)
    return cannotWrite(draft);
  bool good =
      std::fprintf(file, "%s %s %d\n", kWord, hostName().c_str(), port) > 0;
  good = std::fclose(file) == 0 && good;
  if (!good || std::rename(draft.c_str(), path.c_str()) != 0) {
    Status status = cannotWrite(path);
    ::unlink(draft.c_str());
    return status;
  }
  written = true;
  return Status();
}

Result<Socket> callByFile(const std::string &path, Clock::time_point deadline) {
  Status why =
      makeError(StatusCode::DeadlineExceeded, "rank 0 has not written '", path,
                "' (ZC_RENDEZVOUS_FILE)");
  while (true) {
    std::ifstream file(path);
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
