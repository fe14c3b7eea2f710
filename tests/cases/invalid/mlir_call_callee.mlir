// EXPECT: 3:8 there is no function @nobody
func.func @main(%a: tensor<2xf32>) {
  %r = "func.call"(%a) <{callee = @nobody}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
