// RUN: zc-opt %s --verify-diagnostics --zc-build-optimizer-step=optimizer=lion

// expected-error @+1 {{expected @step and an optimizer sgd, adam, adamw, adafactor, sm3 or onebit-adam}}
module {
  func.func @step() {
    return
  }
}
