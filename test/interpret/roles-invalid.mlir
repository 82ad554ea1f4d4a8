// Errors of two roles of a pipeline together.
// RUN: not zc-interpret %s --program unsent --random 0 2>&1 | FileCheck %s --check-prefix=UNSENT
// RUN: not zc-interpret %s --program unread --random 0 2>&1 | FileCheck %s --check-prefix=UNREAD
// RUN: not zc-interpret %s --program divided --random 0 2>&1 | FileCheck %s --check-prefix=DIVIDED
// RUN: not zc-interpret %s --program nobody --random 0 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not zc-interpret %s --program circle --random 0 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: not zc-interpret %s --program order --random 0 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not zc-interpret %s --program ends --random 0 2>&1 | FileCheck %s --check-prefix=ENDS
// RUN: not zc-interpret %s --program tied --random 0 2>&1 | FileCheck %s --check-prefix=TIED
// RUN: not zc-interpret %s --program stored --random 0 2>&1 | FileCheck %s --check-prefix=STORED

module {
module @role0 attributes {dist.mesh = #dist.mesh<pp=2>, train.role = 0 : i64} {
  train.state @w "parameter" : tensor<f64> {holders = array<i64: 0, 1>}
  train.state @v "parameter" : tensor<f64> {holders = array<i64: 0, 1>, value = dense<1.0> : tensor<f64>}

  // Tests a message that the other role does not send: it sends another.
  // UNSENT: of role 0 receives message 5 from role 1, which does not send it
  func.func @unsent(%a: tensor<f64> {train.receive = {id = 5 : i64, peer = 1 : i64}}) -> tensor<f64> {
    return %a : tensor<f64>
  }

  // UNREAD: of role 0 sends message 5 to role 1, which does not receive it
  func.func @unread(%w: tensor<f64> {train.state = @w}) -> (tensor<f64> {train.send = {id = 5 : i64, peer = 1 : i64}}) {
    return %w : tensor<f64>
  }

  // DIVIDED: of role 0 sends message 5 to role 1, which receives another type or another sharding
  func.func @divided(%w: tensor<f64> {train.state = @w}) -> (tensor<f64> {train.send = {id = 5 : i64, peer = 1 : i64}}) {
    return %w : tensor<f64>
  }

  // NOBODY: of role 0 sends message 5 to role 2, of which there is none
  func.func @nobody(%w: tensor<f64> {train.state = @w}) -> (tensor<f64> {train.send = {id = 5 : i64, peer = 2 : i64}}) {
    return %w : tensor<f64>
  }

  // Tests that two roles which wait for one another are named with messages.
  // CIRCLE: stops where all wait:
  // CIRCLE-NEXT: rank 0, of role 0, waits at 'train.neg' for message 3 from role 1
  // CIRCLE-NEXT: rank 1, of role 1, waits at 'train.exp' for message 4 from role 0
  func.func @circle(%a: tensor<f64> {train.receive = {id = 3 : i64, peer = 1 : i64}}) -> (tensor<f64> {train.send = {id = 4 : i64, peer = 1 : i64}}) {
    %b = train.neg %a : (tensor<f64>) -> tensor<f64>
    return %b : tensor<f64>
  }

  // Tests a collective behind a message in one role, in front of it in the other.
  // ORDER: stops where all wait:
  // ORDER-NEXT: rank 0, of role 0, waits at 'dist.all_reduce' for rank 1
  // ORDER-NEXT: rank 1, of role 1, waits at 'train.neg' for message 4 from role 0
  func.func @order(%w: tensor<f64> {train.state = @w}) -> (tensor<f64> {train.send = {id = 4 : i64, peer = 1 : i64}}) {
    %b = dist.all_reduce %w {axes = ["pp"], traffic = "scalars"} : (tensor<f64>) -> tensor<f64>
    return %b : tensor<f64>
  }

  // ENDS: rank 0, of role 0, waits at 'dist.all_reduce' for rank 1, which has no such op
  func.func @ends(%w: tensor<f64> {train.state = @w}) -> tensor<f64> {
    %b = dist.all_reduce %w {axes = ["pp"], traffic = "scalars"} : (tensor<f64>) -> tensor<f64>
    return %b : tensor<f64>
  }

  // Tests a tied parameter that the roles update in two ways.
  // TIED: of role 1 gives another 'w' than role 0
  func.func @tied(%w: tensor<f64> {train.state = @w}) -> (tensor<f64> {train.state = @w}) {
    %b = train.add %w, %w : (tensor<f64>, tensor<f64>) -> tensor<f64>
    return %b : tensor<f64>
  }

  // Tests a tied parameter that begins with two values.
  // STORED: has another value of 'v' than a role in front of it
  func.func @stored(%v: tensor<f64> {train.state = @v}) -> tensor<f64> {
    return %v : tensor<f64>
  }
}

module @role1 attributes {dist.mesh = #dist.mesh<pp=2>, train.role = 1 : i64} {
  train.state @w "parameter" : tensor<f64> {holders = array<i64: 0, 1>}
  train.state @v "parameter" : tensor<f64> {holders = array<i64: 0, 1>, value = dense<2.0> : tensor<f64>}

  func.func @unsent(%w: tensor<f64> {train.state = @w}) -> tensor<f64> {
    return %w : tensor<f64>
  }
  func.func @unread(%w: tensor<f64> {train.state = @w}) -> tensor<f64> {
    return %w : tensor<f64>
  }
  func.func @divided(%a: tensor<f32> {train.receive = {id = 5 : i64, peer = 0 : i64}}) -> tensor<f32> {
    return %a : tensor<f32>
  }
  func.func @nobody(%w: tensor<f64> {train.state = @w}) -> tensor<f64> {
    return %w : tensor<f64>
  }
  func.func @circle(%a: tensor<f64> {train.receive = {id = 4 : i64, peer = 0 : i64}}) -> (tensor<f64> {train.send = {id = 3 : i64, peer = 0 : i64}}) {
    %b = train.exp %a : (tensor<f64>) -> tensor<f64>
    return %b : tensor<f64>
  }
  func.func @order(%a: tensor<f64> {train.receive = {id = 4 : i64, peer = 0 : i64}}) -> tensor<f64> {
    %b = train.neg %a : (tensor<f64>) -> tensor<f64>
    %c = dist.all_reduce %b {axes = ["pp"], traffic = "scalars"} : (tensor<f64>) -> tensor<f64>
    return %c : tensor<f64>
  }
  func.func @ends(%w: tensor<f64> {train.state = @w}) -> tensor<f64> {
    return %w : tensor<f64>
  }
  func.func @tied(%w: tensor<f64> {train.state = @w}) -> (tensor<f64> {train.state = @w}) {
    %b = train.mul %w, %w : (tensor<f64>, tensor<f64>) -> tensor<f64>
    return %b : tensor<f64>
  }
  func.func @stored(%v: tensor<f64> {train.state = @v}) -> tensor<f64> {
    return %v : tensor<f64>
  }
}
}
