// EXPECT: 3:8 operand 0 is tensor<i1>, and is written as tensor<i32>
func.func @main(%a0: tensor<i1>, %a1: tensor<2xf32>) {
  %r = stablehlo.select %a0, %a1, %a1 : tensor<i32>, tensor<2xf32>
  return
}
