// ----- case_c2
// EXPECT: 3:8 (case C2)
func.func @main(%p: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { ^bb0(%z: tensor<2xf32>): stablehlo.return %z : tensor<2xf32> }) : (tensor<i32>) -> tensor<2xf32>
  return
}
// ----- case_c3
// EXPECT: 3:8 (case C3)
func.func @main(%p: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %c : tensor<3xf32> }) : (tensor<i32>) -> tensor<2xf32>
  return
}
// ----- case_c4
// EXPECT: 3:8 (case C4)
func.func @main(%p: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i32>) -> tensor<3xf32>
  return
}
// ----- case_i1
// EXPECT: 3:8 (case I1)
func.func @main(%p: tensor<i64>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i64>) -> tensor<2xf32>
  return
}
// ----- if_c1
// EXPECT: 3:8 (if C1)
func.func @main(%p: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ ^bb0(%z: tensor<2xf32>): stablehlo.return %z : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i1>) -> tensor<2xf32>
  return
}
// ----- if_c2
// EXPECT: 3:8 (if C2)
func.func @main(%p: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %c : tensor<3xf32> }) : (tensor<i1>) -> tensor<2xf32>
  return
}
// ----- if_c3
// EXPECT: 3:8 (if C3)
func.func @main(%p: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<i1>) -> tensor<3xf32>
  return
}
// ----- if_i1
// EXPECT: 3:8 (if I1)
func.func @main(%p: tensor<f32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<f32>) -> tensor<2xf32>
  return
}
// ----- if_i1_rank
// EXPECT: 3:8 (if I1)
func.func @main(%p: tensor<1xi1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%p) ({ stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %b : tensor<2xf32> }) : (tensor<1xi1>) -> tensor<2xf32>
  return
}
