// Tensors without their zeros: what is encoded comes back bit for bit, and
// nothing is written where it does not belong. On every instruction set that
// this machine has.
#include "kernels/Cpu/Parallel.h"
#include "kernels/Cpu/Primitive.h"
#include "kernels/Cpu/SparseBlock.h"
#include "test/unit/kernels/TestTensors.h"

#include <algorithm>
#include <random>

namespace zc::kernels::test {
namespace {

constexpr uint8_t kUntouched = 0xA5;
constexpr int64_t kGuard = 64; // bytes behind every buffer

struct SparseCase {
  ElementType type;
  int64_t elements;
  double density;
};

/// The parts of one sparse tensor, with room for `capacity` values.
class SparseTensor {
public:
  SparseTensor(const SparseCase &given, int64_t capacity)
      : bytes(elementBytes(given.type)), spec{false, given.type, given.elements,
                                              capacity},
        dense(guarded(given.elements * bytes)), decoded(dense.size()),
        bits(guarded((given.elements + 7) / 8)),
        offsets((given.elements + kSparseBlock - 1) / kSparseBlock + 1),
        values(guarded(capacity * bytes)) {
    decoded.assign(dense.size(), kUntouched);
    std::mt19937 random(static_cast<unsigned>(given.elements));
    std::bernoulli_distribution isSet(given.density);
    for (int64_t i = 0; i < given.elements; ++i)
      for (int64_t byte = 0; byte < bytes; ++byte)
        dense[i * bytes + byte] =
            i % 97 == 5 ? (byte == bytes - 1 ? 0x80 : 0) // -0 has a value
                        : 0;
    for (int64_t i = 0; i < given.elements; ++i)
      if (isSet(random))
        for (int64_t byte = 0; byte < bytes; ++byte)
          dense[i * bytes + byte] = static_cast<uint8_t>(random() | 1);
  }

  int64_t countSet() const {
    int64_t count = 0;
    for (int64_t i = 0; i < spec.elements; ++i)
      count += std::any_of(dense.begin() + i * bytes,
                           dense.begin() + (i + 1) * bytes,
                           [](uint8_t byte) { return byte != 0; });
    return count;
  }

  bool run(bool decode, std::string *error) {
    spec.decode = decode;
    auto kernel = createPrimitive(spec, 0, error);
    void *pointers[] = {decode ? decoded.data() : dense.data(), bits.data(),
                        offsets.data(), values.data()};
    return kernel && kernel->execute(pointers, nullptr, error);
  }

  void expectGuards() const {
    for (const auto *buffer : {&decoded, &bits, &values})
      for (int64_t i = 0; i < kGuard; ++i)
        ASSERT_EQ((*buffer)[buffer->size() - kGuard + i], kUntouched);
  }

  static std::vector<uint8_t> guarded(int64_t size) {
    return std::vector<uint8_t>(size + kGuard, kUntouched);
  }

  int64_t bytes;
  SparseSpec spec;
  std::vector<uint8_t> dense, decoded, bits;
  std::vector<int64_t> offsets;
  std::vector<uint8_t> values;
};

class SparseKernelTest : public testing::TestWithParam<SparseCase> {};

TEST_P(SparseKernelTest, ComesBackBitForBit) {
  for (int threads : {1, 2}) {
    setTeamSize(threads);
    int64_t count = SparseTensor(GetParam(), 0).countSet();
    SparseTensor tensor(GetParam(), count);
    std::string error;
    ASSERT_TRUE(tensor.run(/*decode=*/false, &error)) << error;
    EXPECT_EQ(tensor.offsets.back(), count);
    ASSERT_TRUE(tensor.run(/*decode=*/true, &error)) << error;
    tensor.expectGuards();
    EXPECT_EQ(tensor.decoded, tensor.dense);
  }
}

TEST_P(SparseKernelTest, SaysHowMuchRoomIsMissing) {
  int64_t count = SparseTensor(GetParam(), 0).countSet();
  if (count == 0)
    return;
  SparseTensor tensor(GetParam(), count - 1);
  std::string error;
  EXPECT_FALSE(tensor.run(/*decode=*/false, &error));
  EXPECT_NE(error.find("of its " + std::to_string(GetParam().elements) +
                       " elements are not zero"),
            std::string::npos)
      << error;
  // Only what the compiler would do is advised.
  double share = double(count) / double(GetParam().elements);
  EXPECT_EQ(error.find("sparse=") != std::string::npos, share < 0.8) << error;
  // Whatever is in the parts, no element is read or written beyond them.
  ASSERT_TRUE(tensor.run(/*decode=*/true, &error)) << error;
  tensor.expectGuards();
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SparseKernelTest,
    testing::Values(SparseCase{ElementType::F32, 1, 0.0},
                    SparseCase{ElementType::F32, 1, 1.0},
                    SparseCase{ElementType::F32, 13, 0.5},
                    SparseCase{ElementType::F32, 4096, 0.3},
                    SparseCase{ElementType::F32, 20007, 0.5},
                    SparseCase{ElementType::F32, 20007, 1.0},
                    SparseCase{ElementType::F32, 40000, 0.01},
                    SparseCase{ElementType::BF16, 9, 0.5},
                    SparseCase{ElementType::BF16, 20001, 0.5},
                    SparseCase{ElementType::F16, 8192, 0.9}),
    [](const auto &info) {
      return (elementBytes(info.param.type) == 2 ? "Narrow" : "Float") +
             std::to_string(info.index);
    });

TEST(SparseKernelTest, RefusesOtherElements) {
  std::string error;
  EXPECT_EQ(
      createPrimitive(SparseSpec{false, ElementType::F64, 8, 8}, 0, &error),
      nullptr);
  EXPECT_NE(error.find("2 or 4 bytes"), std::string::npos);
}

} // namespace
} // namespace zc::kernels::test
