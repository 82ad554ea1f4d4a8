//===- TrainOps.td - the dialect, family by family ------------------------===//
include "dialects/Train/TrainDialect.td"
include "dialects/Train/ElementwiseOps.td"
include "dialects/Train/ShapeOps.td"
include "dialects/Train/ContractionOps.td"
include "dialects/Train/CompositeOps.td"
include "dialects/Train/ProgramOps.td"
