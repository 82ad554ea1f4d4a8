// A file that all ranks see, in which rank 0 says where it listens. Private to
// this folder.
#ifndef ZC_RUNTIME_COMM_TCP_MEETINGFILE_H
#define ZC_RUNTIME_COMM_TCP_MEETINGFILE_H

#include "runtime/Base/Temporaries.h"
#include "runtime/Comm/Tcp/Socket.h"

#include <optional>
#include <string>

namespace zc::tcp {

/// Rank 0's side; the file that it has written goes with it, also where a
/// signal ends it.
class MeetingFile {
public:
  explicit MeetingFile(std::string path) : path(std::move(path)) {}
  ~MeetingFile();
  MeetingFile(const MeetingFile &) = delete;

  /// Says that this host listens on `port`, of `address` alone unless that is
  /// empty; replaces what an earlier run left.
  Status write(const std::string &address, int port);

private:
  std::string path;
  std::optional<TemporaryName> written;
};

/// Another rank's side: reads the file, as soon as it is there, and connects.
/// If nobody answers, the file may be an earlier run's, and is read again.
Result<Socket> callByFile(const std::string &path, Clock::time_point deadline);

} // namespace zc::tcp

#endif // ZC_RUNTIME_COMM_TCP_MEETINGFILE_H
