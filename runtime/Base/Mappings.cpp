#include "runtime/Base/Mappings.h"
#include "runtime/Base/HandlerText.h"
#include "runtime/Base/Temporaries.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unistd.h>

namespace zc {

/// Entries are used again and never freed, so that a handler may walk them
/// while other threads map and unmap.
struct Mapping::Entry {
  std::atomic<uintptr_t> begin{0}, end{0}; // both 0: nobody's
  std::atomic<char *> path{nullptr};
  struct stat info = {};
  Entry *next = nullptr;
};

using Entry = Mapping::Entry;

static std::atomic<Entry *> entries{nullptr};
static std::mutex mutex; // of everything but the handler's reading
// Two places in turn: a handler may read the one that is not written.
static char words[2][4608]; // a path and some words
static std::atomic<const char *> lastWords{nullptr};
static const char *programName = "zc";

static Entry *findFree() {
  for (Entry *entry = entries; entry; entry = entry->next)
    if (!entry->path.load())
      return entry;
  auto *entry = new Entry;
  entry->next = entries;
  entries = entry;
  return entry;
}

Mapping::Mapping(const std::string &path, const void *data,
                 const struct stat &info) {
  std::lock_guard<std::mutex> lock(mutex);
  entry = findFree();
  entry->info = info;
  entry->path = ::strdup(path.c_str());
  entry->begin = reinterpret_cast<uintptr_t>(data);
  entry->end = entry->begin + uintptr_t(info.st_size);
}

Mapping::~Mapping() {
  std::lock_guard<std::mutex> lock(mutex);
  entry->begin = entry->end = 0;
  std::free(entry->path.exchange(nullptr));
}

Status checkMappings() {
  std::lock_guard<std::mutex> lock(mutex);
  for (Entry *entry = entries; entry; entry = entry->next) {
    struct stat now;
    const char *path = entry->path;
    if (!path || ::stat(path, &now) != 0 || now.st_ino != entry->info.st_ino ||
        now.st_dev != entry->info.st_dev)
      continue;
    if (now.st_size < entry->info.st_size)
      return makeError(StatusCode::IoError, "'", path,
                       "' was cut short while it was read, from ",
                       entry->info.st_size, " to ", now.st_size,
                       " bytes; put it back and leave it as it is");
  }
  return Status();
}

Status MappingCheck::check() {
  auto now = std::chrono::steady_clock::now();
  if (now - last < std::chrono::seconds(1))
    return Status();
  last = now;
  return checkMappings();
}

namespace {

const char *pathAt(uintptr_t address) {
  for (Entry *entry = entries; entry; entry = entry->next)
    if (entry->begin <= address && address < entry->end)
      return entry->path;
  return nullptr;
}

void onBusError(int signal, siginfo_t *info, void *) {
  const char *path = pathAt(reinterpret_cast<uintptr_t>(info->si_addr));
  if (!path && info->si_code != BUS_ADRERR) { // a mistake of ours
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  HandlerText text;
  text << programName << ": error: ";
  if (path)
    text << "'" << path << "'";
  else // mapped by a library
    text << "a file";
  text << " was cut short while it was read, or its disk fails; put it back "
          "and leave it as it is";
  if (const char *last = lastWords)
    text << "; " << last;
  text.print();
  removeTemporaries();
  ::_exit(1);
}

} // namespace

void installMappingGuard(const char *program) {
  programName = program;
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

void setLastWords(const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  char *place = words[lastWords == words[0]];
  place[text.copy(place, sizeof(words[0]) - 1)] = '\0';
  lastWords = place;
}

} // namespace zc
