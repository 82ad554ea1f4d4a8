// RUN: zc-opt %s --verify-diagnostics --zc-shard-parameters

// expected-error @+1 {{has no dist.mesh; run --zc-annotate-mesh}}
module {
  func.func @step() {
    return
  }
}
