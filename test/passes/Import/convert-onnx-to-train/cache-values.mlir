// Tests new rows of a cache, beyond its end too, and n-grams that are counted.
// RUN: zc-opt %s --zc-convert-onnx-to-train | zc-interpret - --program forward | FileCheck %s
onnx.graph @main() -> (tensor<1x4x1xf64>, tensor<1x4x1xf64>, tensor<4xf32>, tensor<4xf32>)
    attributes {input_names = [], output_names = ["linear", "circular", "counts", "skipping"], opset_imports = {"ai.onnx" = 24 : i64}} {
  %cache = onnx.initializer @cache {value = dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf64>} : tensor<1x4x1xf64>
  %new = onnx.initializer @new {value = dense<[[[9.0], [8.0]]]> : tensor<1x2x1xf64>} : tensor<1x2x1xf64>
  %one = onnx.initializer @one {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %three = onnx.initializer @three {value = dense<3> : tensor<1xi64>} : tensor<1xi64>
  %words = onnx.initializer @words {value = dense<[2, 5, 4, 5, 6]> : tensor<5xi64>} : tensor<5xi64>
  %linear = onnx.node "TensorScatter"(%cache, %new, %one) {since_version = 24 : i64}
      : (tensor<1x4x1xf64>, tensor<1x2x1xf64>, tensor<1xi64>) -> tensor<1x4x1xf64>
  // CHECK: {{^}}linear: f [1, 4, 1] = 1 9 8 4{{$}}
  %circular = onnx.node "TensorScatter"(%cache, %new, %three) {since_version = 24 : i64, node_attributes = {mode = "circular"}}
      : (tensor<1x4x1xf64>, tensor<1x2x1xf64>, tensor<1xi64>) -> tensor<1x4x1xf64>
  // CHECK: {{^}}circular: f [1, 4, 1] = 8 2 3 9{{$}}
  %counts = onnx.node "TfIdfVectorizer"(%words) {since_version = 9 : i64, node_attributes = {mode = "TF", min_gram_length = 1 : i64, max_gram_length = 2 : i64, max_skip_count = 0 : i64, ngram_counts = array<i64: 0, 2>, ngram_indexes = array<i64: 0, 1, 2, 3>, pool_int64s = array<i64: 2, 3, 5, 4, 5, 6>}}
      : (tensor<5xi64>) -> tensor<4xf32>
  // CHECK: {{^}}counts: f [4] = 1 0 1 1{{$}}
  %skipping = onnx.node "TfIdfVectorizer"(%words) {since_version = 9 : i64, node_attributes = {mode = "TFIDF", weights = array<f32: 1.0, 1.0, 1.0, 0.5>, min_gram_length = 2 : i64, max_gram_length = 2 : i64, max_skip_count = 2 : i64, ngram_counts = array<i64: 0, 2>, ngram_indexes = array<i64: 0, 1, 2, 3>, pool_int64s = array<i64: 2, 3, 5, 4, 5, 6>}}
      : (tensor<5xi64>) -> tensor<4xf32>
  // CHECK: {{^}}skipping: f [4] = 0 0 1 1{{$}}
  onnx.return %linear, %circular, %counts, %skipping : tensor<1x4x1xf64>, tensor<1x4x1xf64>, tensor<4xf32>, tensor<4xf32>
}
