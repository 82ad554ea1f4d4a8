// The results of collectives with a root, and of exchanges with neighbours, on
// four simulated ranks, as NCCL defines them. Rank r gives 10 r and 10 r + 1; results
// are listed rank by rank.
// RUN: zc-interpret %s --program broadcast --random 0 | FileCheck %s --check-prefix=BROADCAST
// RUN: zc-interpret %s --program groups --random 0 | FileCheck %s --check-prefix=GROUPS
// RUN: zc-interpret %s --program reduce --random 0 | FileCheck %s --check-prefix=REDUCE
// RUN: zc-interpret %s --program gather --random 0 | FileCheck %s --check-prefix=GATHER
// RUN: zc-interpret %s --program scatter --random 0 | FileCheck %s --check-prefix=SCATTER
// RUN: zc-interpret %s --program further --random 0 | FileCheck %s --check-prefix=FURTHER
// RUN: zc-interpret %s --program back --random 0 | FileCheck %s --check-prefix=BACK

module attributes {dist.mesh = #dist.mesh<dp=2,tp=2>} {
  train.state @coordinate.dp "scalar" : tensor<i64> {coordinate = "dp"}
  train.state @coordinate.tp "scalar" : tensor<i64> {coordinate = "tp"}

  // Tests that every rank gets the root's part.
  func.func @broadcast(%dp: tensor<i64> {train.state = @coordinate.dp}, %tp: tensor<i64> {train.state = @coordinate.tp})
      -> (tensor<1x2xf64> {dist.sharding = #dist.sharding<dp+tp,_>, dist.whole = tensor<4x2xf64>}) {
    %table = train.constant dense<[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]]> : tensor<4x2xf64>
    %two = train.add %dp, %dp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rank = train.add %two, %tp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %index = train.reshape %rank : (tensor<i64>) -> tensor<1xi64>
    %x = train.gather %table, %index {dim = 0 : i64} : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<1x2xf64>
    %y = dist.broadcast %x {axes = ["dp", "tp"], root = 2 : i64, traffic = "parameters"} : (tensor<1x2xf64>) -> tensor<1x2xf64>
    return %y : tensor<1x2xf64>
  }
  // BROADCAST: result0: f [4, 2] = 20 21 20 21 20 21 20 21{{$}}

  // Tests that the root is a number in a group: ranks 2 and 3, which differ from
  // ranks 0 and 1 along dp.
  func.func @groups(%dp: tensor<i64> {train.state = @coordinate.dp}, %tp: tensor<i64> {train.state = @coordinate.tp})
      -> (tensor<1x2xf64> {dist.sharding = #dist.sharding<dp+tp,_>, dist.whole = tensor<4x2xf64>}) {
    %table = train.constant dense<[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]]> : tensor<4x2xf64>
    %two = train.add %dp, %dp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rank = train.add %two, %tp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %index = train.reshape %rank : (tensor<i64>) -> tensor<1xi64>
    %x = train.gather %table, %index {dim = 0 : i64} : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<1x2xf64>
    %y = dist.broadcast %x {axes = ["dp"], root = 1 : i64, traffic = "parameters"} : (tensor<1x2xf64>) -> tensor<1x2xf64>
    return %y : tensor<1x2xf64>
  }
  // GROUPS: result0: f [4, 2] = 20 21 30 31 20 21 30 31{{$}}

  // Tests that the root alone gets the sum.
  func.func @reduce(%dp: tensor<i64> {train.state = @coordinate.dp}, %tp: tensor<i64> {train.state = @coordinate.tp})
      -> (tensor<1x2xf64> {dist.sharding = #dist.sharding<dp+tp,_>, dist.whole = tensor<4x2xf64>}) {
    %table = train.constant dense<[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]]> : tensor<4x2xf64>
    %two = train.add %dp, %dp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rank = train.add %two, %tp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %index = train.reshape %rank : (tensor<i64>) -> tensor<1xi64>
    %x = train.gather %table, %index {dim = 0 : i64} : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<1x2xf64>
    %y = dist.reduce %x {axes = ["dp", "tp"], root = 3 : i64, traffic = "gradients"} : (tensor<1x2xf64>) -> tensor<1x2xf64>
    return %y : tensor<1x2xf64>
  }
  // REDUCE: result0: f [4, 2] = 0 0 0 0 0 0 60 64{{$}}

  // Tests that each group's second rank gets its parts, in order.
  func.func @gather(%dp: tensor<i64> {train.state = @coordinate.dp}, %tp: tensor<i64> {train.state = @coordinate.tp})
      -> (tensor<2x2xf64> {dist.sharding = #dist.sharding<dp+tp,_>, dist.whole = tensor<8x2xf64>}) {
    %table = train.constant dense<[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]]> : tensor<4x2xf64>
    %two = train.add %dp, %dp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rank = train.add %two, %tp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %index = train.reshape %rank : (tensor<i64>) -> tensor<1xi64>
    %x = train.gather %table, %index {dim = 0 : i64} : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<1x2xf64>
    %y = dist.gather %x {axes = ["tp"], root = 1 : i64, traffic = "activations"} : (tensor<1x2xf64>) -> tensor<2x2xf64>
    return %y : tensor<2x2xf64>
  }
  // GATHER: result0: f [8, 2] = 0 0 0 0 0 1 10 11 0 0 0 0 20 21 30 31{{$}}

  // Tests that rank r gets row r of what rank 1 holds.
  func.func @scatter(%dp: tensor<i64> {train.state = @coordinate.dp}, %tp: tensor<i64> {train.state = @coordinate.tp})
      -> (tensor<1x2xf64> {dist.sharding = #dist.sharding<dp+tp,_>, dist.whole = tensor<4x2xf64>}) {
    %table = train.constant dense<[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]]> : tensor<4x2xf64>
    %two = train.add %dp, %dp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rank = train.add %two, %tp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %index = train.reshape %rank : (tensor<i64>) -> tensor<1xi64>
    %x = train.gather %table, %index {dim = 0 : i64} : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<1x2xf64>
    %rows = train.constant dense<[[0.0], [100.0], [200.0], [300.0]]> : tensor<4x1xf64>
    %a = train.broadcast %x {dims = array<i64: 0, 1>} : (tensor<1x2xf64>) -> tensor<4x2xf64>
    %b = train.broadcast %rows {dims = array<i64: 0, 1>} : (tensor<4x1xf64>) -> tensor<4x2xf64>
    %all = train.add %a, %b : (tensor<4x2xf64>, tensor<4x2xf64>) -> tensor<4x2xf64>
    %y = dist.scatter %all {axes = ["dp", "tp"], root = 1 : i64, traffic = "activations"} : (tensor<4x2xf64>) -> tensor<1x2xf64>
    return %y : tensor<1x2xf64>
  }
  // SCATTER: result0: f [4, 2] = 10 11 110 111 210 211 310 311{{$}}

  // Tests that a rank gets what the one before it has.
  func.func @further(%dp: tensor<i64> {train.state = @coordinate.dp}, %tp: tensor<i64> {train.state = @coordinate.tp})
      -> (tensor<1x2xf64> {dist.sharding = #dist.sharding<dp+tp,_>, dist.whole = tensor<4x2xf64>}) {
    %table = train.constant dense<[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]]> : tensor<4x2xf64>
    %two = train.add %dp, %dp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rank = train.add %two, %tp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %index = train.reshape %rank : (tensor<i64>) -> tensor<1xi64>
    %x = train.gather %table, %index {dim = 0 : i64} : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<1x2xf64>
    %y = dist.send_receive %x {axes = ["dp", "tp"], shift = 1 : i64, traffic = "activations"} : (tensor<1x2xf64>) -> tensor<1x2xf64>
    return %y : tensor<1x2xf64>
  }
  // FURTHER: result0: f [4, 2] = 30 31 0 1 10 11 20 21{{$}}

  // Tests a negative distance beyond the group.
  func.func @back(%dp: tensor<i64> {train.state = @coordinate.dp}, %tp: tensor<i64> {train.state = @coordinate.tp})
      -> (tensor<1x2xf64> {dist.sharding = #dist.sharding<dp+tp,_>, dist.whole = tensor<4x2xf64>}) {
    %table = train.constant dense<[[0.0, 1.0], [10.0, 11.0], [20.0, 21.0], [30.0, 31.0]]> : tensor<4x2xf64>
    %two = train.add %dp, %dp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %rank = train.add %two, %tp : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %index = train.reshape %rank : (tensor<i64>) -> tensor<1xi64>
    %x = train.gather %table, %index {dim = 0 : i64} : (tensor<4x2xf64>, tensor<1xi64>) -> tensor<1x2xf64>
    %y = dist.send_receive %x {axes = ["dp", "tp"], shift = -3 : i64, traffic = "activations"} : (tensor<1x2xf64>) -> tensor<1x2xf64>
    return %y : tensor<1x2xf64>
  }
  // BACK: result0: f [4, 2] = 30 31 0 1 10 11 20 21{{$}}
}
