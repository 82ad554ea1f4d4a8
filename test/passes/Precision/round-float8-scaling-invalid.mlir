// RUN: zc-opt %s --verify-diagnostics --zc-round-float8="scaling=row"

// expected-error @+1 {{expected current, delayed or block, and a history of at least 1 step, found 'row'}}
module {
}
