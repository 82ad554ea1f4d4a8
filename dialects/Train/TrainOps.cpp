//===- TrainOps.cpp - what TableGen generates for the ops -----------------===//
#include "dialects/Train/ExpertOps.h"
#include "dialects/Train/Float8Ops.h"
#include "dialects/Train/GradientOps.h"
#include "dialects/Train/Ops/OpSupport.h"

using namespace mlir;
using namespace zc::train;

#define GET_OP_CLASSES
#include "dialects/Train/TrainOps.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Train/GradientOps.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Train/ExpertOps.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Train/Float8Ops.cpp.inc"
