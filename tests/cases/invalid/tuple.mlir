// ----- get_tuple_element_c1
// EXPECT: 3:8 (get_tuple_element C1)
func.func @main(%a: tuple<tensor<2xf32>>) {
  %r = "stablehlo.get_tuple_element"(%a) <{index = 1 : i32}> : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return
}
// ----- get_tuple_element_c2
// EXPECT: 3:8 (get_tuple_element C2)
func.func @main(%a: tuple<tensor<2xf32>>) {
  %r = "stablehlo.get_tuple_element"(%a) <{index = 0 : i32}> : (tuple<tensor<2xf32>>) -> tensor<3xf32>
  return
}
