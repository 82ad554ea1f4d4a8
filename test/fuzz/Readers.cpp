// The files and frames that the runtime reads.
#include "runtime/Comm/Tcp/Socket.h"
#include "runtime/Comm/Tcp/Tcp.h"
#include "runtime/Comm/Tcp/Token.h"
#include "runtime/Io/BatchFeed.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Io/DataFile.h"
#include "runtime/Io/RunLog.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/Safetensors.h"
#include "runtime/Simulate/Cluster.h"
#include "test/fuzz/Fuzz.h"
#include "test/unit/runtime/TinyArtifact.h"
#include "test/unit/runtime/TinyRoles.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace zc::fuzz {
namespace {

/// A file in memory, for readers that want a path.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes)
      : descriptor(::memfd_create("zc-fuzz", MFD_CLOEXEC)) {
    if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) < 0)
      std::abort();
  }
  ~MemoryFile() { ::close(descriptor); }
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

/// Reads every byte, as those who use it would.
uint64_t touch(std::string_view bytes) {
  uint64_t sum = 0;
  for (char c : bytes)
    sum += uint8_t(c);
  return sum;
}
volatile uint64_t sink; // so that nothing is left out

void touchData(const DataFile &data) {
  for (const auto &[name, array] : data.arrays())
    sink = touch(array.data) + array.print().size();
  for (const TokenShard &shard : data.tokens())
    sink = touch(shard.tokens) + looksTwiceAsWide(shard);
}

void readNpy(std::string_view input) {
  auto kept = std::make_shared<std::string>(input);
  if (auto array = parseNpy(*kept, kept); array.ok())
    sink = touch(array->data);
}

void readNpz(std::string_view input) {
  MemoryFile file(input);
  if (auto data = DataFile::open(file.path()); data.ok())
    touchData(*data);
}

/// The first byte says what the user has said of the tokens' width.
void readTokens(std::string_view input) {
  const std::string path = scratch() + "/t.bin";
  const int bits = input.empty() ? 0 : (input[0] % 3) * 16;
  test::writeWhole(path, std::string(input.substr(!input.empty())));
  if (auto data = DataFile::open(path, bits); data.ok())
    touchData(*data);
}

void readSafetensors(std::string_view input) {
  auto tensors = parseSafetensors(input);
  if (!tensors.ok())
    return;
  for (const SafetensorsTensor &tensor : *tensors)
    sink = touch(tensor.data) + checkSum(tensor).ok();
}

void useArtifact(const std::string &path) {
  auto artifact = Artifact::load(path);
  if (!artifact.ok())
    return;
  sink = artifact->fingerprint();
  for (const plan::Role &role : artifact->manifest().roles())
    for (const plan::State &state : role.states())
      for (const FileTensor &tensor : fileTensorsOf(state))
        sink = touch(artifact->initialBytes(tensor));
  for (const plan::CodeObject &object : artifact->manifest().target().code())
    if (auto code = artifact->code(object); code.ok())
      sink = touch(*code);
}

void readArtifact(std::string_view input) {
  useArtifact(MemoryFile(input).path());
}

/// Code is bytes to the reader: few of them leave changes to the rest.
void writeSmallArtifact(const std::string &path, const std::string &manifest) {
  static const std::string code = [] {
    const std::string file = scratch() + "/code.so";
    test::writeWhole(file, "the code of an artifact");
    return file;
  }();
  test::writeArtifact(path, manifest, code);
}

/// Behind sound checksums, which chance would seldom find.
void readManifest(std::string_view input) {
  const std::string path = scratch() + "/m.zca";
  writeSmallArtifact(path, std::string(input));
  useArtifact(path);
}

std::vector<std::string> seedArtifacts() {
  const std::string path = scratch() + "/seed.zca";
  writeSmallArtifact(path, test::tinyManifest().SerializeAsString());
  return {test::readWhole(path)};
}

std::vector<std::string> seedManifests() {
  return {test::tinyManifest().SerializeAsString(),
          test::tinyManifestOfRoles().SerializeAsString()};
}

/// A log that a run goes on with.
void readLog(std::string_view input) {
  const std::string path = scratch() + "/l.jsonl";
  test::writeWhole(path, std::string(input));
  (void)RunLog::open(path, 3);
}

void readCluster(std::string_view input) {
  if (auto cluster = Cluster::parse(input, "cluster"); cluster.ok())
    sink = uint64_t(cluster->size()) + uint64_t(cluster->sharedBy(3).size());
}

std::vector<std::string> seedClusters() {
  std::vector<std::string> texts;
  for (const std::string &name : listPresets())
    texts.emplace_back(findPreset(name));
  return texts;
}

// Frames of ranks
// --------------------------------------------------------------------

void sayAll(tcp::Socket &socket, std::string_view bytes) {
  (void)socket.write(bytes.data(), bytes.size(),
                     tcp::Clock::now() + std::chrono::milliseconds(5));
}

/// Rank 0's work once all are there, in as many turns as answers may take.
void listen(Transport &transport) {
  char buffer[64];
  std::vector<RequestId> requests;
  for (uint32_t channel : {0, 1}) {
    if (auto request = transport.receive(1, channel, buffer + 32 * channel, 32);
        request.ok())
      requests.push_back(*request);
  }
  for (int turn = 0; turn < 4; ++turn) {
    transport.pause(transport.ticket());
    for (size_t i = 0; i < requests.size();) {
      auto finished = transport.finished(requests[i]);
      if (finished.ok() && *finished)
        requests.erase(requests.begin() + long(i));
      else
        ++i;
    }
    while (transport.nextNote()) {
    }
  }
  for (RequestId request : requests)
    transport.cancel(request);
  transport.close(false);
}

/// The input's first byte says where the strange bytes begin: with the first
/// words, or when rank 0 has welcomed both lines.
void speakToRankZero(std::string_view input) {
  using std::chrono::milliseconds;
  const bool stranger = !input.empty() && input[0] % 4 == 0;
  input.remove_prefix(std::min<size_t>(1, input.size()));
  static int port = 0; // of the last one, used again
  if (port == 0)
    port = *tcp::portOf(*tcp::listenOn(0));
  std::thread first([&] {
    auto transport = connectByTcp({0, 2, "localhost", port},
                                  milliseconds(stranger ? 20 : 2000));
    if (transport.ok())
      listen(**transport);
  });
  const auto deadline = tcp::Clock::now() + milliseconds(stranger ? 20 : 2000);
  const auto half = input.size() / 2;
  std::vector<tcp::Socket> lines;
  for (int line : {0, 1}) {
    auto socket = tcp::connectTo("localhost", port, deadline);
    if (!socket.ok())
      continue;
    tcp::Hello hello;
    hello.rank = hello.port = 1;
    hello.size = 2;
    hello.line = line;
    if (stranger)
      sayAll(*socket, line ? input.substr(half) : input.substr(0, half));
    else
      sayAll(*socket, {reinterpret_cast<char *>(&hello), sizeof(hello)});
    lines.push_back(std::move(*socket));
  }
  if (!stranger && lines.size() == 2) {
    sayAll(lines[0], input.substr(0, half));
    sayAll(lines[1], input.substr(half));
  }
  if (stranger) // nobody waits for more of it
    lines.clear();
  first.join();
}

} // namespace

std::vector<Target> listTargets() {
  const std::vector<std::string> zip = {
      std::string("PK\1\2", 4), std::string("PK\3\4", 4),
      std::string("PK\5\6", 4), std::string("PK\6\6", 4),
      std::string("PK\6\7", 4), std::string("\1\0\x18\0", 4)};
  return {
      {"npy",
       readNpy,
       {"\x93NUMPY", "'descr'", "'fortran_order'", "'shape'", "True", "False",
        "<f4", "<i8", "|b1", ">f8", "(", ")", ", ", "{", "}"}},
      {"npz", readNpz, zip},
      {"tokens",
       readTokens,
       {std::string("\xc8\xd4\x34\x01\1\0\0\0", 8),
        std::string("\xe1\xd5\x34\x01\7\0\0\0", 8)}},
      {"safetensors",
       readSafetensors,
       {"__metadata__", "xxh64.", "\"dtype\"", "\"shape\"", "\"data_offsets\"",
        "\"F32\"", "\"I64\"", "[", "]", "{", "}", ":", ","}},
      {"artifact", readArtifact, zip, seedArtifacts},
      {"manifest", readManifest, {}, seedManifests},
      {"log", readLog, {"{\"step\": ", "}\n", "\n"}},
      {"cluster",
       readCluster,
       {"\"device\"", "\"levels\"", "\"size\"", "\"efficiency\"",
        "\"bytes_per_s\"", "\"tile\"", "1e308", "-1", "0", "[", "]", "{", "}",
        ":", ","},
       seedClusters},
      {"tcp",
       speakToRankZero,
       {std::string("\x54\x43\x5a\x31", 4), std::string("\x63\x7a\0\0", 4)}},
  };
}

} // namespace zc::fuzz
