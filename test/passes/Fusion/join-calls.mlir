// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-join-calls | FileCheck %s
// RUN: zc-opt %s --zc-annotate-target=device=cuda --zc-join-calls --zc-split-batch-norm --canonicalize --cse --zc-form-regions --zc-select-library-calls | FileCheck %s --check-prefix=REGIONS

// Tests that a batch norm and the ReLU behind it become a call that leaves the
// inverse deviation, which the variance that others read is computed from; the
// gradients read it, what the ReLU is of is computed again, and the ReLU's
// result is not read. Later passes leave both as they are.
// CHECK-LABEL: func.func @relu
// CHECK-SAME: (%[[X:.*]]: tensor<4x28x28x64xbf16>, %[[SCALE:.*]]: tensor<64xbf16>, %[[BIAS:.*]]: tensor<64xbf16>, %[[GRAD:.*]]: tensor<4x28x28x64xbf16>)
// CHECK-DAG: %[[WIDE:.*]] = train.convert %[[SCALE]] : (tensor<64xbf16>) -> tensor<64xf32>
// CHECK-DAG: %[[SHIFT:.*]] = train.convert %[[BIAS]] : (tensor<64xbf16>) -> tensor<64xf32>
// CHECK: %[[Y:.*]]:3 = train.fused(%[[X]], %{{.*}}, %{{.*}}) {joined = {norm = {}}, library = "cudnn.norm"}
// CHECK: %[[N:.*]], %[[MEAN:.*]], %[[VARIANCE:.*]] = train.batch_norm_training
// CHECK: %[[R:.*]] = train.relu %[[N]]
// CHECK: %[[SUM:.*]] = train.add %[[VARIANCE]]
// CHECK: %[[INVERSE:.*]] = train.rsqrt %[[SUM]]
// CHECK: train.yield %[[R]], %[[MEAN]], %[[INVERSE]]
// CHECK: %[[SQUARE:.*]] = train.mul %[[Y]]#2, %[[Y]]#2
// CHECK: %[[TURNED:.*]] = train.div %{{.*}}, %[[SQUARE]]
// CHECK: %[[V:.*]] = train.sub %[[TURNED]]
// CHECK-NOT: train.select
// CHECK: %[[D:.*]]:3 = train.fused(%[[X]], %{{.*}}, %{{.*}}, %[[Y]]#1, %[[Y]]#2, %[[GRAD]]) {gradients = array<i64: 1, 2>, joined = {norm = {}}, library = "cudnn.norm"
// CHECK: %[[ABOVE:.*]] = train.compare "gt"
// CHECK: %[[SLOPE:.*]] = train.select %[[ABOVE]], %{{.*}}, %{{.*}}
// CHECK: train.batch_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SLOPE]]
// CHECK: return %[[Y]]#0, %[[Y]]#1, %[[V]], %[[D]]#0, %[[D]]#1, %[[D]]#2
// REGIONS-LABEL: func.func @relu
// REGIONS: train.fused(%{{.*}}, %{{.*}}, %{{.*}}) {joined = {norm = {}}, library = "cudnn.norm", workspace_bytes
// REGIONS: train.fused(%{{.*}}) {gradients = array<i64: 1, 2>, joined = {norm = {}}, library = "cudnn.norm", workspace_bytes
// REGIONS-NOT: train.channel_
// REGIONS: return
func.func @relu(%x: tensor<4x28x28x64xbf16>, %scale: tensor<64xbf16>, %bias: tensor<64xbf16>, %grad: tensor<4x28x28x64xbf16>)
    -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>) {
  %zero = train.constant dense<0.0> : tensor<4x28x28x64xbf16>
  %n, %mean, %variance = train.batch_norm_training %x, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  %y = train.relu %n : (tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xbf16>
  %above = train.compare "gt" %y, %zero : (tensor<4x28x28x64xbf16>, tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xi1>
  %slope = train.select %above, %grad, %zero : (tensor<4x28x28x64xi1>, tensor<4x28x28x64xbf16>, tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xbf16>
  %0:3 = train.batch_norm_grad %x, %scale, %mean, %variance, %slope {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64, train.gradients = array<i64: 1, 2>}
      : (tensor<4x28x28x64xbf16>, tensor<64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<4x28x28x64xbf16>)
      -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  return %y, %mean, %variance, %0#0, %0#1, %0#2
      : tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>
}

// Tests that a residual that is in memory anyway joins too, and that the
// gradient of the sum, which the residual's makers need, stays as it is.
// CHECK-LABEL: func.func @residual
// CHECK: train.fused(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {joined = {norm = {addend}}, library = "cudnn.norm"}
// CHECK: train.add
// CHECK: train.relu
// CHECK-NOT: library
// CHECK: train.select
// CHECK: train.batch_norm_grad
// REGIONS-LABEL: func.func @residual
// REGIONS: train.channel_products
func.func @residual(%x: tensor<4x28x28x64xf16>, %scale: tensor<64xf32>, %bias: tensor<64xf32>, %r: tensor<4x28x28x64xf16>, %grad: tensor<4x28x28x64xf16>)
    -> (tensor<4x28x28x64xf16>, tensor<4x28x28x64xf16>, tensor<4x28x28x64xf16>) {
  %zero = train.constant dense<0.0> : tensor<4x28x28x64xf16>
  %n, %mean, %variance = train.batch_norm_training %x, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x28x28x64xf16>, tensor<64xf32>, tensor<64xf32>)
  %s = train.add %r, %n : (tensor<4x28x28x64xf16>, tensor<4x28x28x64xf16>) -> tensor<4x28x28x64xf16>
  %y = train.relu %s : (tensor<4x28x28x64xf16>) -> tensor<4x28x28x64xf16>
  %above = train.compare "gt" %y, %zero : (tensor<4x28x28x64xf16>, tensor<4x28x28x64xf16>) -> tensor<4x28x28x64xi1>
  %slope = train.select %above, %grad, %zero : (tensor<4x28x28x64xi1>, tensor<4x28x28x64xf16>, tensor<4x28x28x64xf16>) -> tensor<4x28x28x64xf16>
  %0:3 = train.batch_norm_grad %x, %scale, %mean, %variance, %slope {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xf16>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<4x28x28x64xf16>)
      -> (tensor<4x28x28x64xf16>, tensor<64xf32>, tensor<64xf32>)
  return %y, %slope, %0#0 : tensor<4x28x28x64xf16>, tensor<4x28x28x64xf16>, tensor<4x28x28x64xf16>
}

// Tests that a sum of two batch norms, neither of which is in memory as
// generated kernels add them up, stays with these.
// CHECK-LABEL: func.func @two_norms
// CHECK-NOT: cudnn
// CHECK: return
func.func @two_norms(%x: tensor<4x28x28x64xbf16>, %z: tensor<4x28x28x64xbf16>, %scale: tensor<64xf32>, %bias: tensor<64xf32>) -> tensor<4x28x28x64xbf16> {
  %0:3 = train.batch_norm_training %x, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  %1:3 = train.batch_norm_training %z, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  %s = train.add %0#0, %1#0 : (tensor<4x28x28x64xbf16>, tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xbf16>
  %y = train.relu %s : (tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xbf16>
  return %y : tensor<4x28x28x64xbf16>
}

// Tests what the library has no plan for, or is not better at: float32,
// channels first, 12 channels, no ReLU, a norm that others read too.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: cudnn
// CHECK: return
func.func @left_alone(%x: tensor<4x28x28x64xf32>, %c: tensor<4x64x28x28xbf16>, %f: tensor<4x28x28x12xbf16>, %h: tensor<4x28x28x64xbf16>,
    %scale: tensor<64xf32>, %bias: tensor<64xf32>, %few: tensor<12xf32>)
    -> (tensor<4x28x28x64xf32>, tensor<4x64x28x28xbf16>, tensor<4x28x28x12xbf16>, tensor<4x28x28x64xbf16>, tensor<4x28x28x64xbf16>, tensor<4x28x28x64xbf16>) {
  %0:3 = train.batch_norm_training %x, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x28x28x64xf32>, tensor<64xf32>, tensor<64xf32>)
  %wide = train.relu %0#0 : (tensor<4x28x28x64xf32>) -> tensor<4x28x28x64xf32>
  %1:3 = train.batch_norm_training %c, %scale, %bias {channel_dim = 1 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x64x28x28xbf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x64x28x28xbf16>, tensor<64xf32>, tensor<64xf32>)
  %first = train.relu %1#0 : (tensor<4x64x28x28xbf16>) -> tensor<4x64x28x28xbf16>
  %2:3 = train.batch_norm_training %f, %few, %few {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x12xbf16>, tensor<12xf32>, tensor<12xf32>) -> (tensor<4x28x28x12xbf16>, tensor<12xf32>, tensor<12xf32>)
  %narrow = train.relu %2#0 : (tensor<4x28x28x12xbf16>) -> tensor<4x28x28x12xbf16>
  %3:3 = train.batch_norm_training %h, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  %4:3 = train.batch_norm_training %3#0, %scale, %bias {channel_dim = 3 : i64, epsilon = 1.0e-5 : f64}
      : (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x28x28x64xbf16>, tensor<64xf32>, tensor<64xf32>)
  %both = train.relu %4#0 : (tensor<4x28x28x64xbf16>) -> tensor<4x28x28x64xbf16>
  return %wide, %first, %narrow, %3#0, %4#0, %both
      : tensor<4x28x28x64xf32>, tensor<4x64x28x28xbf16>, tensor<4x28x28x12xbf16>, tensor<4x28x28x64xbf16>, tensor<4x28x28x64xbf16>, tensor<4x28x28x64xbf16>
}
