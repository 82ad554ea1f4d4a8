// Two roles of a pipeline, on two ranks each: role 0 computes h = w x and sends
// it, role 1 computes y = h u, and sends back the gradient of h, with which role
// 0 adds to the gradient of w. Both hold s and have their share of its gradient.
// RUN: zc-interpret %s --program micro --random 0 | FileCheck %s --check-prefix=MICRO
// RUN: zc-interpret %s --program apply --random 0 | FileCheck %s --check-prefix=APPLY
// RUN: zc-interpret %s --program forwarded --random 0 | FileCheck %s --check-prefix=FORWARDED
// RUN: zc-interpret %s --program unnamed --random 0 | FileCheck %s --check-prefix=UNNAMED
// RUN: not zc-interpret %s --program nothing --random 0 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not zc-interpret %s --program half --random 0 2>&1 | FileCheck %s --check-prefix=HALF

// NOTHING: has no program 'nothing'
// HALF: has roles without a program 'half'

#rows = #dist.sharding<dp>
#whole = #dist.sharding<>

module {
module @role0 attributes {dist.mesh = #dist.mesh<pp=2,dp=2>, train.role = 0 : i64} {
  train.state @x "constant" : tensor<2xf64> {dist.sharding = #rows, dist.whole = tensor<4xf64>, value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>}
  train.state @w "parameter" : tensor<2xf64> {dist.sharding = #rows, dist.whole = tensor<4xf64>, value = dense<[2.0, 2.0, 3.0, 3.0]> : tensor<4xf64>}
  train.state @s "parameter" : tensor<f64> {holders = array<i64: 0, 1>, value = dense<7.0> : tensor<f64>}
  train.state @accumulated.s "accumulator" : tensor<f64> {value = dense<100.0> : tensor<f64>}

  // Tests that a rank's part goes to the rank of the other role with the same
  // coordinate, both ways in one program, whose backward may stand in front
  // of its forward, and that the roles' terms of a sum that both hold are added
  // up, the old sum once.
  // MICRO: dw: f [4] = 10 20 60 80{{$}}
  // MICRO-NEXT: accumulated.s: f [] = 112{{$}}
  // MICRO-NEXT: y: f [4] = 20 40 180 240{{$}}
  // MICRO-NOT: :
  func.func @micro(%x: tensor<2xf64> {train.state = @x, dist.sharding = #rows, dist.whole = tensor<4xf64>},
      %w: tensor<2xf64> {train.state = @w, dist.sharding = #rows, dist.whole = tensor<4xf64>},
      %dh: tensor<2xf64> {train.receive = {id = 1 : i64, peer = 1 : i64, gradient}, dist.sharding = #rows},
      %sum: tensor<f64> {train.state = @accumulated.s})
      -> (tensor<2xf64> {train.send = {id = 0 : i64, peer = 1 : i64, answered}, dist.sharding = #rows},
          tensor<2xf64> {train.output = "dw", dist.sharding = #rows, dist.whole = tensor<4xf64>},
          tensor<f64> {train.state = @accumulated.s}) {
    %dw = train.mul %x, %dh : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %h = train.mul %x, %w : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %two = train.constant dense<2.0> : tensor<f64>
    %new = train.add %sum, %two : (tensor<f64>, tensor<f64>) -> tensor<f64>
    return %h, %dw, %new : tensor<2xf64>, tensor<2xf64>, tensor<f64>
  }

  // Tests sums over roles among all and among some, and that a state of both is
  // one result.
  // APPLY: s: f [] = 1007{{$}}
  // APPLY-NEXT: total: f [4] = 11 12 13 14{{$}}
  // APPLY-NOT: :
  func.func @apply(%x: tensor<2xf64> {train.state = @x, dist.sharding = #rows, dist.whole = tensor<4xf64>},
      %s: tensor<f64> {train.state = @s})
      -> (tensor<f64> {train.state = @s}, tensor<2xf64> {train.metric = "total", dist.sharding = #rows, dist.whole = tensor<4xf64>}) {
    %mine = train.constant dense<400.0> : tensor<f64>
    %all = dist.all_reduce %mine {axes = ["pp"], holders = array<i64: 0, 1>, traffic = "gradients"} : (tensor<f64>) -> tensor<f64>
    %new = train.add %s, %all : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %total = dist.all_reduce %x {axes = ["pp"], traffic = "scalars"} : (tensor<2xf64>) -> tensor<2xf64>
    return %new, %total : tensor<f64>, tensor<2xf64>
  }

  // Tests a role that gives back what it got, and sends what it was given.
  // FORWARDED: back: f [4] = 1 2 3 4{{$}}
  func.func @forwarded(%x: tensor<2xf64> {train.state = @x, dist.sharding = #rows, dist.whole = tensor<4xf64>},
      %y: tensor<2xf64> {train.receive = {id = 1 : i64, peer = 1 : i64}, dist.sharding = #rows})
      -> (tensor<2xf64> {train.send = {id = 0 : i64, peer = 1 : i64}, dist.sharding = #rows},
          tensor<2xf64> {train.output = "back", dist.sharding = #rows, dist.whole = tensor<4xf64>}) {
    return %x, %y : tensor<2xf64>, tensor<2xf64>
  }

  // Tests that what has no name is each role's own.
  // UNNAMED: role0.result0: f [] = 1{{$}}
  // UNNAMED-NEXT: role1.result0: f [] = 2{{$}}
  func.func @unnamed() -> tensor<f64> {
    %one = train.constant dense<1.0> : tensor<f64>
    return %one : tensor<f64>
  }
  func.func @half() -> tensor<f64> {
    %one = train.constant dense<1.0> : tensor<f64>
    return %one : tensor<f64>
  }
}

module @role1 attributes {dist.mesh = #dist.mesh<pp=2,dp=2>, train.role = 1 : i64} {
  train.state @u "parameter" : tensor<2xf64> {dist.sharding = #rows, dist.whole = tensor<4xf64>, value = dense<[10.0, 10.0, 20.0, 20.0]> : tensor<4xf64>}
  train.state @s "parameter" : tensor<f64> {holders = array<i64: 0, 1>, value = dense<7.0> : tensor<f64>}
  train.state @accumulated.s "accumulator" : tensor<f64> {value = dense<100.0> : tensor<f64>}

  func.func @micro(%h: tensor<2xf64> {train.receive = {id = 0 : i64, peer = 0 : i64, answered}, dist.sharding = #rows},
      %u: tensor<2xf64> {train.state = @u, dist.sharding = #rows, dist.whole = tensor<4xf64>},
      %sum: tensor<f64> {train.state = @accumulated.s})
      -> (tensor<2xf64> {train.send = {id = 1 : i64, peer = 0 : i64, gradient}, dist.sharding = #rows},
          tensor<2xf64> {train.output = "y", dist.sharding = #rows, dist.whole = tensor<4xf64>},
          tensor<f64> {train.state = @accumulated.s}) {
    %y = train.mul %h, %u : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %ten = train.constant dense<10.0> : tensor<f64>
    %new = train.add %sum, %ten : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %zero = train.constant dense<0.0> : tensor<2xf64>
    %dh = train.add %u, %zero : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    return %dh, %y, %new : tensor<2xf64>, tensor<2xf64>, tensor<f64>
  }

  func.func @apply(%s: tensor<f64> {train.state = @s})
      -> (tensor<f64> {train.state = @s}, tensor<2xf64> {train.metric = "total", dist.sharding = #rows, dist.whole = tensor<4xf64>}) {
    %mine = train.constant dense<600.0> : tensor<f64>
    %all = dist.all_reduce %mine {axes = ["pp"], holders = array<i64: 0, 1>, traffic = "gradients"} : (tensor<f64>) -> tensor<f64>
    %new = train.add %s, %all : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %ten = train.constant dense<10.0> : tensor<2xf64>
    %total = dist.all_reduce %ten {axes = ["pp"], traffic = "scalars"} : (tensor<2xf64>) -> tensor<2xf64>
    return %new, %total : tensor<f64>, tensor<2xf64>
  }

  func.func @forwarded(%x: tensor<2xf64> {train.receive = {id = 0 : i64, peer = 0 : i64}, dist.sharding = #rows})
      -> (tensor<2xf64> {train.send = {id = 1 : i64, peer = 0 : i64}, dist.sharding = #rows}) {
    return %x : tensor<2xf64>
  }

  func.func @unnamed() -> tensor<f64> {
    %two = train.constant dense<2.0> : tensor<f64>
    return %two : tensor<f64>
  }
}
}
