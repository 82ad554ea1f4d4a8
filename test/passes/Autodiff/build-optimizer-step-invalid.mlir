// RUN: zc-opt %s --verify-diagnostics --zc-build-optimizer-step=optimizer=lion

// expected-error @+1 {{expected @step and an optimizer sgd, adam, adamw, adafactor or sm3}}
module {
  func.func @step() {
    return
  }
}
