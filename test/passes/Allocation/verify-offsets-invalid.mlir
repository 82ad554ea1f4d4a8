// RUN: zc-opt %s --zc-verify-offsets --split-input-file --verify-diagnostics

// expected-error @+1 {{'builtin.module' op has no sched.persistent_bytes; run --zc-assign-offsets}}
module {
}

// -----

module attributes {sched.persistent_bytes = 64 : i64} {
  // expected-error @+1 {{'train.state' op has no offset; run --zc-assign-offsets}}
  train.state @w "parameter" : tensor<4xf32>
}

// -----

module attributes {sched.persistent_bytes = 64 : i64} {
  // expected-error @+1 {{'train.state' op ends at byte 80 of a region of 64}}
  train.state @w "parameter" : tensor<4xf32> {offset = 64 : i64}
}

// -----

module attributes {sched.persistent_bytes = 192 : i64} {
  // expected-note @+1 {{the other buffer is here}}
  train.state @w "parameter" : tensor<32xf32> {offset = 0 : i64}
  // expected-error @+1 {{'train.state' op shares bytes with another buffer while both are needed}}
  train.state @v "parameter" : tensor<32xf32> {offset = 64 : i64}
}

// -----

module attributes {sched.persistent_bytes = 0 : i64} {
  // expected-error @+1 {{'sched.program' op has no transient_bytes; run --zc-assign-offsets}}
  sched.program @step {
  }
}

// -----

module attributes {sched.persistent_bytes = 0 : i64} {
  sched.program @step attributes {transient_bytes = 128 : i64} {
    // expected-error @+1 {{'sched.input' op has offset 32, which is no multiple of 64}}
    %x = sched.input "x" {offset = 32 : i64} : memref<4xf32>
  }
}

// -----

module attributes {sched.persistent_bytes = 0 : i64} {
  sched.program @step attributes {transient_bytes = 64 : i64} {
    // expected-note @+1 {{the other buffer is here}}
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    // expected-error @+1 {{'sched.alloc' op shares bytes with another buffer while both are needed}}
    %a = sched.alloc "activations" {offset = 0 : i64} : memref<4xf32>
    sched.copy %x to %a : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that an output is needed to the end.
module attributes {sched.persistent_bytes = 0 : i64} {
  sched.program @step attributes {transient_bytes = 128 : i64} {
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    // expected-note @+1 {{the other buffer is here}}
    %a = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    sched.copy %x to %a : memref<4xf32> to memref<4xf32>
    // expected-error @+1 {{'sched.alloc' op shares bytes with another buffer while both are needed}}
    %b = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    sched.copy %x to %b : memref<4xf32> to memref<4xf32>
    sched.output "output" "a" %a : memref<4xf32>
  }
}

// -----

module attributes {sched.persistent_bytes = 0 : i64} {
  sched.program @step attributes {transient_bytes = 128 : i64} {
    %a = sched.alloc "activations" {offset = 0 : i64} : memref<4xf32>
    %b = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    // expected-error @+1 {{'sched.copy' op reads a buffer that nothing has written}}
    sched.copy %a to %b : memref<4xf32> to memref<4xf32>
  }
}

// -----

module attributes {sched.persistent_bytes = 0 : i64} {
  sched.program @step attributes {transient_bytes = 128 : i64} {
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %a = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    sched.copy %x to %a : memref<4xf32> to memref<4xf32>
    // expected-error @+1 {{'sched.copy' op writes a buffer that holds a value already; a new value needs a new view}}
    sched.copy %x to %a : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that the old value of a state must not be read after the new one is there.
module attributes {sched.persistent_bytes = 64 : i64} {
  train.state @w "parameter" : tensor<4xf32> {offset = 0 : i64}
  sched.program @step attributes {transient_bytes = 128 : i64} {
    %w = sched.state @w : memref<4xf32>
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %new = sched.view %w : memref<4xf32> to memref<4xf32>
    sched.copy %x to %new : memref<4xf32> to memref<4xf32>
    %a = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    // expected-error @+1 {{'sched.copy' op reads a value that has been overwritten}}
    sched.copy %w to %a : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that an output must still hold its value at the end.
module attributes {sched.persistent_bytes = 64 : i64} {
  train.state @w "parameter" : tensor<4xf32> {offset = 0 : i64}
  sched.program @step attributes {transient_bytes = 64 : i64} {
    %w = sched.state @w : memref<4xf32>
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    // expected-error @+1 {{'sched.output' op reads a value that has been overwritten}}
    sched.output "output" "old" %w : memref<4xf32>
    %new = sched.view %w : memref<4xf32> to memref<4xf32>
    sched.copy %x to %new : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that what a collective under way sends keeps its bytes until the wait.
module attributes {sched.persistent_bytes = 0 : i64, dist.mesh = #dist.mesh<dp=2>} {
  sched.program @step attributes {transient_bytes = 256 : i64} {
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    // expected-note @+1 {{the other buffer is here}}
    %a = sched.alloc "gradients" {offset = 64 : i64} : memref<4xf32>
    %r = sched.alloc "gradients" {offset = 128 : i64} : memref<4xf32>
    // expected-error @+1 {{'sched.alloc' op shares bytes with another buffer while both are needed}}
    %b = sched.alloc "activations" {offset = 64 : i64} : memref<4xf32>
    sched.copy %x to %a : memref<4xf32> to memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %a to %r {async} : memref<4xf32> to memref<4xf32>
    sched.copy %x to %b : memref<4xf32> to memref<4xf32>
    sched.wait %r : memref<4xf32>
    sched.output "output" "r" %r : memref<4xf32>
  }
}

// -----

// Tests that what a collective brings is read behind a wait.
module attributes {sched.persistent_bytes = 0 : i64, dist.mesh = #dist.mesh<dp=2>} {
  sched.program @step attributes {transient_bytes = 256 : i64} {
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %r = sched.alloc "gradients" {offset = 64 : i64} : memref<4xf32>
    %b = sched.alloc "activations" {offset = 128 : i64} : memref<4xf32>
    // expected-note @+1 {{the collective is here}}
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
    // expected-error @+1 {{'sched.copy' op reads what is written by an async collective under way, which nothing has waited for}}
    sched.copy %r to %b : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that a wait for an earlier collective does not stand for a later one, and
// that what is being sent is not written over in place.
module attributes {sched.persistent_bytes = 0 : i64, dist.mesh = #dist.mesh<dp=2>} {
  sched.program @step attributes {transient_bytes = 256 : i64} {
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %y = sched.input "y" {offset = 64 : i64} : memref<4xf32>
    %r = sched.alloc "gradients" {offset = 128 : i64} : memref<4xf32>
    %s = sched.alloc "gradients" {offset = 192 : i64} : memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
    // expected-note @+1 {{the collective is here}}
    sched.collective "all_reduce" ["dp"] "gradients" %y to %s {async} : memref<4xf32> to memref<4xf32>
    sched.wait %r : memref<4xf32>
    %new = sched.view %y : memref<4xf32> to memref<4xf32>
    // expected-error @+1 {{'sched.copy' op writes what is used by an async collective under way, which nothing has waited for}}
    sched.copy %r to %new : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that what comes from the second memory is read behind a wait for it, and
// that a wait for a collective does not stand for a copy.
module attributes {sched.persistent_bytes = 0 : i64, sched.offloaded_bytes = 64 : i64, dist.mesh = #dist.mesh<dp=2>} {
  train.state @m "optimizer" : tensor<4xf32> {offloaded, offset = 0 : i64}
  sched.program @step attributes {transient_bytes = 256 : i64} {
    %m = sched.state @m : memref<4xf32>
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %f = sched.alloc "communication" {offset = 64 : i64} : memref<4xf32>
    %r = sched.alloc "gradients" {offset = 128 : i64} : memref<4xf32>
    %b = sched.alloc "activations" {offset = 192 : i64} : memref<4xf32>
    // expected-note @+1 {{the copy is here}}
    sched.copy %m to %f {async} : memref<4xf32> to memref<4xf32>
    sched.collective "all_reduce" ["dp"] "gradients" %x to %r {async} : memref<4xf32> to memref<4xf32>
    sched.wait %r : memref<4xf32>
    // expected-error @+1 {{'sched.copy' op reads what is written by an async copy under way, which nothing has waited for}}
    sched.copy %f to %b : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that a wait for what comes from the second memory does not stand for what
// goes there, which has a stream of its own.
module attributes {sched.persistent_bytes = 0 : i64, sched.offloaded_bytes = 128 : i64} {
  train.state @m "optimizer" : tensor<4xf32> {offloaded, offset = 0 : i64}
  train.state @n "optimizer" : tensor<4xf32> {offloaded, offset = 64 : i64}
  sched.program @step attributes {transient_bytes = 128 : i64} {
    %m = sched.state @m : memref<4xf32>
    %n = sched.state @n : memref<4xf32>
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    %f = sched.alloc "communication" {offset = 64 : i64} : memref<4xf32>
    %new = sched.view %m : memref<4xf32> to memref<4xf32>
    // expected-note @+1 {{the copy is here}}
    sched.copy %x to %new {async} : memref<4xf32> to memref<4xf32>
    sched.copy %n to %f {async} : memref<4xf32> to memref<4xf32>
    sched.wait %f : memref<4xf32>
    %y = sched.view %x : memref<4xf32> to memref<4xf32>
    // expected-error @+1 {{'sched.copy' op writes what is used by an async copy under way, which nothing has waited for}}
    sched.copy %f to %y : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Tests that what a program offloads lies apart from states that are there.
module attributes {sched.persistent_bytes = 0 : i64, sched.offloaded_bytes = 64 : i64} {
  // expected-note @+1 {{the other buffer is here}}
  train.state @m "optimizer" : tensor<4xf32> {offloaded, offset = 0 : i64}
  sched.program @step attributes {transient_bytes = 64 : i64} {
    %x = sched.input "x" {offset = 0 : i64} : memref<4xf32>
    // expected-error @+1 {{'sched.alloc' op shares bytes with another buffer while both are needed}}
    %far = sched.alloc "offloaded" {offset = 0 : i64} : memref<4xf32>
    sched.copy %x to %far : memref<4xf32> to memref<4xf32>
  }
}

// -----

module attributes {sched.persistent_bytes = 0 : i64} {
  // expected-error @+1 {{'train.state' op is of kind flight, and lies in no ring}}
  train.state @x "flight" : tensor<4xf32> {offset = 0 : i64}
  train.state @y "flight" : tensor<4xf32> {offset = 64 : i64}
}

// -----

module attributes {sched.persistent_bytes = 64 : i64} {
  // expected-error @+1 {{'train.state' op refers to @nobody, which is no state}}
  train.state @w "parameter" : tensor<4xf32> {offset = 0 : i64, unit = @nobody, unit_offset = 0 : i64}
}

// -----

module attributes {sched.persistent_bytes = 64 : i64} {
  // expected-error @+1 {{'train.state' op refers to @nobody, which is no state}}
  train.state @w "parameter" : tensor<4xf32> {version_of = @nobody, version_age = 1 : i64}
}
