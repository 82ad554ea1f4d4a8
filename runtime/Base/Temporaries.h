// Temporary files that must not outlive the program, even when a signal ends
// it: their names are kept where a signal handler can read them.
#ifndef ZC_RUNTIME_BASE_TEMPORARIES_H
#define ZC_RUNTIME_BASE_TEMPORARIES_H

#include <string>

namespace zc {

/// The name of a temporary file, remembered as long as this lives. It removes
/// nothing by itself.
class TemporaryName {
public:
  TemporaryName() = default; // of no file
  explicit TemporaryName(std::string path);
  TemporaryName(TemporaryName &&other) noexcept;
  TemporaryName &operator=(TemporaryName &&) = delete;
  ~TemporaryName();

  const std::string &path() const { return thePath; }

private:
  std::string thePath;
  int slot = -1;
};

/// Removes all files that are remembered. For signal handlers that end the
/// program.
void removeTemporaries() noexcept;

} // namespace zc

#endif // ZC_RUNTIME_BASE_TEMPORARIES_H
