// The layouts of registers are those of PTX's manual: thread 4 g + t of a warp
// has elements 2 t and 2 t + 1 of line g of a matrix of 8 x 8.
#include "test/unit/runtime/Device/Cuda/PtxMatrices.h"
#include "test/unit/runtime/Device/Cuda/PtxValues.h"

#include <algorithm>
#include <cmath>

namespace zc::test {
namespace {

constexpr int kWarp = 32, kSize = 8;

uint64_t pair(uint16_t low, uint16_t high) {
  return uint64_t(high) << 16 | low;
}

/// ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16: of each matrix, eight
/// threads give the addresses of its lines.
PtxWarpWork makeLoad(bool transposed, const PtxOperands &operands) {
  PtxRead address = operands.read[0][0];
  return [=, written = operands.written](PtxThread *warp) {
    for (size_t matrix = 0; matrix < written.size(); ++matrix) {
      const uint16_t *lines[kSize];
      for (int line = 0; line < kSize; ++line)
        lines[line] = reinterpret_cast<const uint16_t *>(
            address(warp[matrix * kSize + size_t(line)]));
      for (int thread = 0; thread < kWarp; ++thread) {
        int g = thread / 4, t = thread % 4 * 2;
        warp[thread].registers[written[matrix]] =
            transposed ? pair(lines[t][g], lines[t + 1][g])
                       : pair(lines[g][t], lines[g][t + 1]);
      }
    }
  };
}

template <typename T> float half(uint64_t word, int which) {
  return float(as<T>(word >> (16 * which) & 0xffff));
}

/// mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32.
template <typename T> PtxWarpWork makeProduct(const PtxOperands &operands) {
  return [operands](PtxThread *warp) {
    float a[16][16], b[16][8], sums[16][8];
    for (int thread = 0; thread < kWarp; ++thread) {
      int g = thread / 4, t = thread % 4 * 2;
      auto word = [&](int operand, int number) {
        return operands.read[size_t(operand)][size_t(number)](warp[thread]);
      };
      for (int e = 0; e < 2; ++e) {
        for (int i = 0; i < 4; ++i)
          a[g + i % 2 * 8][t + e + i / 2 * 8] = half<T>(word(0, i), e);
        for (int i = 0; i < 2; ++i)
          b[t + e + i * 8][g] = half<T>(word(1, i), e);
        for (int i = 0; i < 2; ++i)
          sums[g + i * 8][t + e] = as<float>(word(2, i * 2 + e));
      }
    }
    for (auto &row : sums)
      for (int column = 0; column < 8; ++column)
        for (int depth = 0; depth < 16; ++depth)
          row[column] =
              std::fma(a[&row - sums][depth], b[depth][column], row[column]);
    for (int thread = 0; thread < kWarp; ++thread)
      for (int i = 0; i < 4; ++i)
        warp[thread].registers[operands.written[size_t(i)]] =
            bitsOf(sums[thread / 4 + i / 2 * 8][thread % 4 * 2 + i % 2]);
  };
}

} // namespace

PtxWarpWork makeMatrixWork(const std::vector<std::string> &parts,
                           const PtxOperands &operands) {
  auto has = [&](const char *name) {
    return std::find(parts.begin(), parts.end(), name) != parts.end();
  };
  if (parts[0] == "ldmatrix" && has("m8n8") && has("b16"))
    return makeLoad(has("trans"), operands);
  if (parts[0] != "mma" || !has("m16n8k16") || !has("row") || !has("col") ||
      operands.written.size() != 4 || parts.back() != "f32")
    return nullptr;
  if (has("bf16"))
    return makeProduct<BFloat16>(operands);
  return has("f16") ? makeProduct<Half>(operands) : nullptr;
}

} // namespace zc::test
