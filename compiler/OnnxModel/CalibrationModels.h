//===- CalibrationModels.h - models to time a machine with ------*- C++ -*-===//
//
// Small ONNX models of the usual kinds of layers, by their sizes. Their weights
// are absent, for `zc compile --init` to draw.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_ONNXMODEL_CALIBRATIONMODELS_H
#define ZC_COMPILER_ONNXMODEL_CALIBRATIONMODELS_H

#include <cstdint>
#include <string>
#include <vector>

namespace zc {

/// A decoder of a language model: token and position embeddings, layers of
/// causal attention and of GELU or gated SiLU, a head. Input "tokens" [batch,
/// length] of INT64, output "logits".
struct LanguageSizes {
  int64_t batch = 8, length = 64, width = 128, heads = 4, layers = 2;
  int64_t vocabulary = 512;
  enum Kind {
    Decoder,
    GatedDecoder, // RMS norms and gated layers
    // No mask, one product for query, key and value, GELU spelled out by Erf.
    Encoder
  } kind = Decoder;
};
std::string makeLanguageModel(const LanguageSizes &sizes);

/// Layers of x W^T + b and an activation: ONNX's "Relu", "Tanh", "Sigmoid" or
/// "Gelu". Input "x" [batch, widths.front()], output "logits".
std::string makeDenseModel(int64_t batch, const std::vector<int64_t> &widths,
                           const std::string &activation);

/// Blocks of two convolutions with batch norms and a sum around them, each at
/// half the size and twice the channels of the one in front; a mean, a head.
/// Input "x" [batch, 3, size, size], output "logits".
struct ImageSizes {
  int64_t batch = 8, size = 32, channels = 16, blocks = 3, classes = 10;
};
std::string makeImageModel(const ImageSizes &sizes);

/// Down and up again: pairs of convolutions with group norms and SiLU, pooled
/// between them to half the size and twice the channels, `blocks` times; back
/// by transposed convolutions, joined with what was there on the way down.
/// Input "x" as above, output "logits" [batch, classes, size, size].
std::string makePixelModel(const ImageSizes &sizes);

/// An encoder of the patches of an image, a convolution, behind a token for the
/// class. Input "x" [batch, 3, size, size], output "logits" [batch, classes].
struct PatchSizes {
  int64_t batch = 8, size = 32, patch = 8;
  int64_t width = 64, heads = 4, layers = 1, classes = 10;
};
std::string makePatchModel(const PatchSizes &sizes);

} // namespace zc

#endif // ZC_COMPILER_ONNXMODEL_CALIBRATIONMODELS_H
