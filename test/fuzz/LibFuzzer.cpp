// Targets as libFuzzer wants them, in the preset `fuzz`:
//
//   zc-fuzz TARGET [OPTIONS OF LIBFUZZER] [FOR NEW INPUTS] [FILE|DIR…]
#include "test/fuzz/Fuzz.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

// An allocation beyond this is a finding, as a crash is. Libraries that are not
// built with AddressSanitizer confuse its look into containers, and would be
// given memory that those which are have marked as unused (LLVM's allocators).
// Most of what readers allocate is small: little of what is freed is kept,
// which costs as much time as the readers themselves.
extern "C" const char *__asan_default_options() {
  return "max_allocation_size_mb=1024:detect_leaks=0:quarantine_size_mb=16:"
         "detect_container_overflow=0:allow_user_poisoning=0:malloc_context_"
         "size=8";
}

namespace zc::fuzz {
namespace {

Target chosen;
std::vector<std::string> words; // of the command line
std::vector<char *> pointers;

/// For processes that libFuzzer starts with its own options alone.
constexpr const char *kVariable = "ZC_FUZZ_TARGET";

[[noreturn]] void refuse() {
  std::fprintf(stderr, "usage: zc-fuzz TARGET [OPTIONS OF LIBFUZZER] "
                       "[FILE|DIR...]\ntargets:");
  for (const Target &target : listTargets())
    std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

bool choose(const char *name) {
  for (Target &target : listTargets())
    if (name && std::strcmp(name, target.name) == 0) {
      chosen = std::move(target);
      ::setenv(kVariable, name, 1);
      return true;
    }
  return false;
}

void writeWords(const std::string &path) {
  std::ofstream file(path);
  char code[8];
  for (const std::string &word : chosen.words) {
    file << '"';
    for (char byte : word) {
      std::snprintf(code, sizeof(code), "\\x%02x", unsigned(uint8_t(byte)));
      file << code;
    }
    file << "\"\n";
  }
}

/// The option's -max_len, or 0, by which libFuzzer takes the longest input's.
uintmax_t getMostBytes() {
  uintmax_t most = 0;
  for (const std::string &word : words)
    if (word.rfind("-max_len=", 0) == 0)
      most = std::strtoull(word.c_str() + 9, nullptr, 10);
  return most;
}

/// A longer input would be cut, and a format whose directory is at the end
/// would never be read again.
void checkLength(const std::filesystem::path &input) {
  std::error_code ignored;
  const uintmax_t most = getMostBytes();
  const uintmax_t size = std::filesystem::file_size(input, ignored);
  if (most == 0 || size <= most)
    return;
  std::fprintf(stderr,
               "zc-fuzz: '%s' has %ju bytes, of which -max_len=%ju would leave "
               "the first: leave the option out, or make it larger\n",
               input.c_str(), size, most);
  std::exit(2);
}

/// Checks the files and folders that the command line names.
void checkLengths() {
  namespace fs = std::filesystem;
  for (size_t at = 1; at < words.size(); ++at) {
    if (fs::is_regular_file(words[at]))
      checkLength(words[at]);
    if (fs::is_directory(words[at]))
      for (const auto &entry : fs::recursive_directory_iterator(words[at]))
        if (entry.is_regular_file())
          checkLength(entry.path());
  }
}

void addSeeds() {
  std::string paths;
  int count = 0;
  for (const std::string &seed :
       chosen.seeds ? chosen.seeds() : std::vector<std::string>()) {
    const std::string path = scratch() + "/seed-" + std::to_string(count++);
    std::ofstream(path, std::ios::binary) << seed;
    checkLength(path);
    paths += (paths.empty() ? "" : ",") + path;
  }
  if (count > 0)
    words.push_back("-seed_inputs=" + paths);
}

} // namespace
} // namespace zc::fuzz

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  using namespace zc::fuzz;
  scratch(); // clears what others have left, whatever follows
  words.assign(*argv, *argv + *argc);
  if (*argc > 1 && choose((*argv)[1]))
    words.erase(words.begin() + 1);
  else if (!choose(std::getenv(kVariable)))
    refuse();
  if (!chosen.words.empty()) {
    writeWords(scratch() + "/words");
    words.push_back("-dict=" + scratch() + "/words");
  }
  checkLengths();
  addSeeds();
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  *argc = int(words.size());
  *argv = pointers.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  zc::fuzz::chosen.run({reinterpret_cast<const char *>(bytes), size});
  return 0;
}
