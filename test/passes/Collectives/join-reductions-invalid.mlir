// RUN: not zc-opt %s --zc-join-reductions="bucket-bytes=-1" 2>&1 | FileCheck %s

// CHECK: error: bucket-bytes: expected at least 0, found -1
module {}
