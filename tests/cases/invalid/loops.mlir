// ----- while_c1
// EXPECT: 3:10 (while C1)
func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) {
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %i : tensor<i32>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    stablehlo.return %i, %x : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}
// ----- while_c1_argument
// EXPECT: 3:10 (while C1)
func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) {
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%i: tensor<i32>, %x: tensor<3xf32>):
    %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    stablehlo.return %i, %x : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}
// ----- while_c1_count
// EXPECT: 3:10 (while C1)
func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) {
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%i: tensor<i32>):
    %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    stablehlo.return %i, %x : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}
// ----- while_c2
// EXPECT: 3:10 (while C2)
func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) {
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    stablehlo.return %x, %x : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}
// ----- while_c2_argument
// EXPECT: 3:10 (while C2)
func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) {
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<3xf32>):
    stablehlo.return %i, %x : tensor<i32>, tensor<3xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}
// ----- while_c2_count
// EXPECT: 3:10 (while C2)
func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) {
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    stablehlo.return %i : tensor<i32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}
// ----- while_c3
// EXPECT: 3:10 (while C3)
func.func @main(%a: tensor<i32>, %b: tensor<2xf32>) {
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    %t = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<2xf32>):
    stablehlo.return %i, %x : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<3xf32>)
  return
}
