// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=ring=contiguous" --canonicalize --split-input-file | FileCheck %s
// RUN: zc-opt %s --zc-order-tokens="parts=2 attention=gather" --canonicalize --split-input-file | FileCheck %s --check-prefix=STAYS

// Tests that a causal mask and the padding of keys come apart for a ring. The
// scores of queries that see no key are lost in a finite number: these get the
// mean of the values, with its gradients.
// CHECK-LABEL: func.func @finite
// CHECK-SAME: %[[X:.*]]: tensor<2x4x3x6xf32>{{.*}}, %[[SEEN:.*]]: tensor<2x4xi1>
// CHECK-DAG: %[[HIDDEN:.*]] = train.constant dense<0xFF800000> : tensor<2x1x1x4xf32>
// CHECK-DAG: %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<2x1x1x4xf32>
// CHECK-DAG: %[[KEYS:.*]] = train.{{broadcast|reshape}} %[[SEEN]] {{.*}}-> tensor<2x1x1x4xi1>
// CHECK: %[[MASK:.*]] = train.select %[[KEYS]], %[[ZERO]], %[[HIDDEN]]
// CHECK: train.reduce "min" {{.*}}tensor<2x1x4x4xf32>) -> tensor<2x1x4xf32>
// CHECK: %[[OUT:.*]], %{{.*}} = train.attention %[[X]], %[[X]], %[[X]], %[[MASK]] {causal, scale = 5.000000e-01 : f64}
// CHECK: %[[SLOPE:.*]] = train.sub
// CHECK: %[[SAME:.*]] = train.stop_gradient %[[SLOPE]]
// CHECK: train.sub %[[SLOPE]], %[[SAME]]
// CHECK: train.add %[[OUT]]
// STAYS-LABEL: func.func @finite
// STAYS-NOT: causal
func.func @finite(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-3.40282347E+38> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %mask = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that nothing is added where the scores are minus infinity: queries that
// see no key get zeros.
// CHECK-LABEL: func.func @infinite
// CHECK: train.attention {{.*}} {causal, scale = 5.000000e-01 : f64}
// CHECK-NEXT: return
func.func @infinite(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %mask = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that a mask which hides earlier keys too stays one of queries and keys.
// CHECK-LABEL: func.func @window
// CHECK-NOT: causal
func.func @window(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %near = train.constant dense<[[true, false, false, false], [true, true, false, false], [false, true, true, false], [false, false, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %near {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %mask = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that the sum of two masks comes apart where both hide by minus infinity.
// CHECK-LABEL: func.func @sum
// CHECK: train.attention {{.*}} {causal, scale = 5.000000e-01 : f64}
// CHECK-NEXT: return
func.func @sum(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %a = train.select %0, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %b = train.select %1, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %added = train.add %a, %b : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %added {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that a sum is seen through its conversion to 16 bits.
// CHECK-LABEL: func.func @sum_in_16_bits
// CHECK: train.attention {{.*}} {causal, scale = 5.000000e-01 : f64}
// CHECK-NEXT: return
func.func @sum_in_16_bits(%x: tensor<2x4x3x6xbf16> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xbf16> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %a = train.select %0, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %b = train.select %1, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %added = train.add %a, %b : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %mask = train.convert %added : (tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xbf16>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xbf16>, tensor<2x4x3x6xbf16>, tensor<2x4x3x6xbf16>, tensor<2x1x4x4xbf16>) -> (tensor<2x4x3x6xbf16>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xbf16>
}

// -----

// Tests that queries which see no key get the mean of the values only where the
// number that hides keys is not minus infinity in 16 bits.
// CHECK-LABEL: func.func @half
// CHECK: %[[MASK:.*]] = train.convert {{.*}} -> tensor<2x1x4x4xf16>
// CHECK: %[[FAR:.*]] = train.compare "eq" %[[MASK]]
// CHECK: train.or %{{.*}}, %[[FAR]]
// CHECK: train.reduce "min"
// CHECK: train.attention {{.*}} {causal, scale = 5.000000e-01 : f64}
func.func @half(%x: tensor<2x4x3x6xf16> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf16> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-3.40282347E+38> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %a = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %mask = train.convert %a : (tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf16>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf16>, tensor<2x4x3x6xf16>, tensor<2x4x3x6xf16>, tensor<2x1x4x4xf16>) -> (tensor<2x4x3x6xf16>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf16>
}

// -----

// Tests that sums over tokens, which are the gradients of queries that see no
// key, are computed in float32.
// CHECK-LABEL: func.func @finite_in_16_bits
// CHECK: train.attention {{.*}} {causal, scale = 5.000000e-01 : f64}
// CHECK: train.matmul {{.*}} -> tensor<2x3x6x6xf32>
// CHECK: train.stop_gradient {{.*}}tensor<2x4x3x6xf32>
// CHECK: return {{.*}}tensor<2x4x3x6xbf16>
func.func @finite_in_16_bits(%x: tensor<2x4x3x6xbf16> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xbf16> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-1.0e+32> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.and %0, %1 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %a = train.select %2, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %mask = train.convert %a : (tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xbf16>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xbf16>, tensor<2x4x3x6xbf16>, tensor<2x4x3x6xbf16>, tensor<2x1x4x4xbf16>) -> (tensor<2x4x3x6xbf16>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xbf16>
}

// -----

// Tests that a mask of many numbers near 0, which also hides keys by minus
// infinity, is one that a ring adds up as it is.
// CHECK-LABEL: func.func @slopes
// CHECK-NOT: causal
func.func @slopes(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %mask = train.constant dense<[[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 0xFF800000], [0xFF800000, 0.0, 1.0, 2.0]]]]> : tensor<1x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<1x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that a mask which shows what either of two shows is not taken for one
// that shows what both do.
// CHECK-LABEL: func.func @either
// CHECK-NOT: causal
func.func @either(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xi1>) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<-3.40282347E+38> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xi1>) -> tensor<2x1x4x4xi1>
  %2 = train.select %1, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %mask = train.select %0, %zero, %2 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that a mask of keys of any numbers comes apart from a causal one that is
// added to it, if that hides by minus infinity: a sum with 0 is the number.
// CHECK-LABEL: func.func @added
// CHECK-SAME: %[[KEYS:[a-z0-9]+]]: tensor<2x1x1x4xf32>
// CHECK: train.attention %{{.*}}, %[[KEYS]] {causal, scale
// STAYS-LABEL: func.func @added
// STAYS: train.attention %{{.*}} {scale
func.func @added(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                 %keys: tensor<2x1x1x4xf32> {train.input = "keys", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %later = train.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %0 = train.broadcast %keys {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x4xf32>) -> tensor<2x1x4x4xf32>
  %1 = train.broadcast %later {dims = array<i64: 2, 3>} : (tensor<4x4xf32>) -> tensor<2x1x4x4xf32>
  %mask = train.add %0, %1 : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that numbers which are finite do not: later keys would count beside
// those that the mask of keys hides.
// CHECK-LABEL: func.func @added_finite
// CHECK-NOT: causal
func.func @added_finite(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64},
                        %keys: tensor<2x1x1x4xf32> {train.input = "keys", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %later = train.constant dense<[[0.0, -1.0e+9, -1.0e+9, -1.0e+9], [0.0, 0.0, -1.0e+9, -1.0e+9], [0.0, 0.0, 0.0, -1.0e+9], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %0 = train.broadcast %keys {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x4xf32>) -> tensor<2x1x4x4xf32>
  %1 = train.broadcast %later {dims = array<i64: 2, 3>} : (tensor<4x4xf32>) -> tensor<2x1x4x4xf32>
  %mask = train.add %0, %1 : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that numbers which are converted to conditions are not taken for these:
// the conversion stays, of one query.
// CHECK-LABEL: func.func @converted
// CHECK: train.convert {{.*}}tensor<2x1x1x4xf32>) -> tensor<2x1x1x4xi1>
// CHECK: train.attention {{.*}} {causal, scale
func.func @converted(%x: tensor<2x4x3x6xf32> {train.input = "x", train.batch_dim = 0 : i64}, %seen: tensor<2x4xf32> {train.input = "seen", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xf32> {
  %earlier = train.constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, false], [true, true, true, true]]> : tensor<4x4xi1>
  %zero = train.constant dense<0.0> : tensor<2x1x4x4xf32>
  %lowest = train.constant dense<0xFF800000> : tensor<2x1x4x4xf32>
  %0 = train.broadcast %earlier {dims = array<i64: 2, 3>} : (tensor<4x4xi1>) -> tensor<2x1x4x4xi1>
  %1 = train.broadcast %seen {dims = array<i64: 0, 3>} : (tensor<2x4xf32>) -> tensor<2x1x4x4xf32>
  %2 = train.convert %1 : (tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xi1>
  %3 = train.and %0, %2 : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %mask = train.select %3, %zero, %lowest : (tensor<2x1x4x4xi1>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x4x3x6xf32>, tensor<2x1x4x4xf32>) -> (tensor<2x4x3x6xf32>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xf32>
}

// -----

// Tests that masks of keys are added in their own type, and their sum is
// converted once.
// CHECK-LABEL: func.func @added_in_16_bits
// CHECK: %[[SUM:.*]] = train.add %{{.*}} -> tensor<2x1x1x4xf32>
// CHECK: %[[KEYS:.*]] = train.convert %[[SUM]] : (tensor<2x1x1x4xf32>) -> tensor<2x1x1x4xbf16>
// CHECK: train.attention %{{.*}}, %[[KEYS]] {causal, scale
func.func @added_in_16_bits(%x: tensor<2x4x3x6xbf16> {train.input = "x", train.batch_dim = 0 : i64},
                            %a: tensor<2x1x1x4xf32> {train.input = "a", train.batch_dim = 0 : i64},
                            %b: tensor<2x1x1x4xf32> {train.input = "b", train.batch_dim = 0 : i64}) -> tensor<2x4x3x6xbf16> {
  %later = train.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %0 = train.broadcast %a {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x4xf32>) -> tensor<2x1x4x4xf32>
  %1 = train.broadcast %b {dims = array<i64: 0, 1, 2, 3>} : (tensor<2x1x1x4xf32>) -> tensor<2x1x4x4xf32>
  %2 = train.broadcast %later {dims = array<i64: 2, 3>} : (tensor<4x4xf32>) -> tensor<2x1x4x4xf32>
  %3 = train.add %0, %2 : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %4 = train.add %3, %1 : (tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xf32>
  %mask = train.convert %4 : (tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xbf16>
  %result, %sums = train.attention %x, %x, %x, %mask {scale = 0.5 : f64} : (tensor<2x4x3x6xbf16>, tensor<2x4x3x6xbf16>, tensor<2x4x3x6xbf16>, tensor<2x1x4x4xbf16>) -> (tensor<2x4x3x6xbf16>, tensor<2x3x4xf32>)
  return %result : tensor<2x4x3x6xbf16>
}
