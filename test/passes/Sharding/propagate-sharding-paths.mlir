// RUN: zc-opt %s --zc-annotate-mesh="mesh=dp=2" --zc-propagate-sharding | FileCheck %s

// Sums that meet again double the paths from the batch's statistics to their
// readers with each layer: 2^48 of them here. Each value is looked at once.
// CHECK-LABEL: func.func @step
// CHECK: train.add
func.func @step(%x: tensor<8x3xf32> {train.input = "x", train.batch_dim = 0 : i64}, %s: tensor<3xf32>, %b: tensor<3xf32>)
    -> tensor<8x3xf32> {
  %a0, %mean, %variance = train.batch_norm_training %x, %s, %b {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %a1 = train.add %a0, %a0 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a2 = train.add %a1, %a1 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a3 = train.add %a2, %a2 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a4 = train.add %a3, %a3 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a5 = train.add %a4, %a4 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a6 = train.add %a5, %a5 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a7 = train.add %a6, %a6 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a8 = train.add %a7, %a7 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a9 = train.add %a8, %a8 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a10 = train.add %a9, %a9 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a11 = train.add %a10, %a10 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a12 = train.add %a11, %a11 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a13 = train.add %a12, %a12 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a14 = train.add %a13, %a13 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a15 = train.add %a14, %a14 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a16 = train.add %a15, %a15 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a17 = train.add %a16, %a16 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a18 = train.add %a17, %a17 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a19 = train.add %a18, %a18 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a20 = train.add %a19, %a19 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a21 = train.add %a20, %a20 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a22 = train.add %a21, %a21 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a23 = train.add %a22, %a22 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a24 = train.add %a23, %a23 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a25 = train.add %a24, %a24 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a26 = train.add %a25, %a25 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a27 = train.add %a26, %a26 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a28 = train.add %a27, %a27 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a29 = train.add %a28, %a28 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a30 = train.add %a29, %a29 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a31 = train.add %a30, %a30 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a32 = train.add %a31, %a31 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a33 = train.add %a32, %a32 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a34 = train.add %a33, %a33 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a35 = train.add %a34, %a34 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a36 = train.add %a35, %a35 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a37 = train.add %a36, %a36 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a38 = train.add %a37, %a37 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a39 = train.add %a38, %a38 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a40 = train.add %a39, %a39 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a41 = train.add %a40, %a40 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a42 = train.add %a41, %a41 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a43 = train.add %a42, %a42 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a44 = train.add %a43, %a43 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a45 = train.add %a44, %a44 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a46 = train.add %a45, %a45 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a47 = train.add %a46, %a46 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %a48 = train.add %a47, %a47 : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  %r = dist.reshard %a48 {dist.sharding = #dist.sharding<_,_>} : tensor<8x3xf32>
  return %r : tensor<8x3xf32>
}
