// RUN: zc-opt %s --split-input-file --verify-diagnostics
// Tests operands that are no rows, matrices, groups and ids.

func.func @inner(%x: tensor<6x4xf32>, %w: tensor<3x5x4xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{contracts 4 with 5 elements}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x5x4xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<6x4xf32>
  return
}

// -----

func.func @dims(%x: tensor<6xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{expected rows of 2 or 3 dims and weights of 3}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<6xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @groups(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<5xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{expected a group for each of the rows of 'tensor<6x4xf32>', found 'tensor<5xi64>'}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<5xi64>, tensor<3xi64>) -> tensor<6x5xf32>
  return
}

// -----

func.func @ids(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<2xi64>) {
  // expected-error @below {{expected an id for each of 3 matrices, found 'tensor<2xi64>'}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<2xi64>) -> tensor<6x5xf32>
  return
}

// -----

func.func @order(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>, %order: tensor<5xi32>, %ends: tensor<3xi32>) {
  // expected-error @below {{expected an order of all rows of 'tensor<6x4xf32>' and the ends of 3 experts}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids, %order, %ends {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi64>, tensor<5xi32>, tensor<3xi32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @ends(%groups: tensor<6xi64>, %ids: tensor<3xi64>, %ends: tensor<2xi32>) {
  // expected-error @below {{expected ends like its ids, found 'tensor<2xi32>'}}
  %0 = train.expert_order %groups, %ids, %ends : (tensor<6xi64>, tensor<3xi64>, tensor<2xi32>) -> tensor<6xi32>
  return
}

// -----

func.func @experts(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{has 3 matrices, of 2 experts}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 2 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<6x5xf32>
  return
}

// -----

func.func @result(%x: tensor<6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{expected a result of 'tensor<6x5xf32>'}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<6x4xf32>
  return
}

// -----

func.func @grad(%x: tensor<6x4xf32>, %dy: tensor<5x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{expected two operands of as many rows, and a result of 3 dims}}
  %0 = train.grouped_matmul_grad %x, %dy, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<5x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grad_matrices(%x: tensor<6x4xf32>, %dy: tensor<6x5xf32>, %groups: tensor<6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{expected matrices of 4 x 5}}
  %0 = train.grouped_matmul_grad %x, %dy, %groups, %ids {experts = 3 : i64} : (tensor<6x4xf32>, tensor<6x5xf32>, tensor<6xi64>, tensor<3xi64>) -> tensor<3x5x4xf32>
  return
}

// -----

func.func @sorted(%x: tensor<2x6x4xf32>, %w: tensor<3x4x5xf32>, %groups: tensor<2x6xi64>, %ids: tensor<3xi64>) {
  // expected-error @below {{has 3 matrices, for sorted rows of 2}}
  %0 = train.grouped_matmul %x, %w, %groups, %ids {experts = 3 : i64} : (tensor<2x6x4xf32>, tensor<3x4x5xf32>, tensor<2x6xi64>, tensor<3xi64>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @choices(%groups: tensor<2x6xi64>) {
  // expected-error @below {{expected experts, room for each, and rows that divide into 4 choices, found 'tensor<2x6xi64>'}}
  %0, %1, %2 = train.expert_slots %groups {experts = 3 : i64, capacity = 2 : i64, choices = 4 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x6xi32>, tensor<2x3xi32>)
  return
}

// -----

func.func @room(%groups: tensor<2x6xi64>) {
  // expected-error @below {{expected slots like its groups, rows of 2 x 6 and counts of 2 x 3}}
  %0, %1, %2 = train.expert_slots %groups {experts = 3 : i64, capacity = 2 : i64, choices = 2 : i64} : (tensor<2x6xi64>) -> (tensor<2x6xi32>, tensor<2x5xi32>, tensor<2x3xi32>)
  return
}

// -----

func.func @inverse(%x: tensor<2x6x4xf32>, %to: tensor<2x9xi32>) {
  // expected-error @below {{expected an inverse index for each row of 'tensor<2x6x4xf32>' and as many groups of indices, found 'tensor<2x9xi32>' and 'tensor<2x9xi32>'}}
  %0 = train.exchange_rows %x, %to, %to : (tensor<2x6x4xf32>, tensor<2x9xi32>, tensor<2x9xi32>) -> tensor<2x9x4xf32>
  return
}
