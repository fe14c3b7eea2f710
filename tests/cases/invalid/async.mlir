// ----- async_start_of_add
// EXPECT: 3:8 its region has stablehlo.add, want a collective or a slice
func.func @main(%a: tensor<4xf32>) {
  %r = "stablehlo.async_start"(%a) ({
  ^bb0(%b: tensor<4xf32>):
    %s = stablehlo.add %b, %b : tensor<4xf32>
    stablehlo.return %s : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}
