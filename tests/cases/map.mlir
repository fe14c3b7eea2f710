func.func @map() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y = "stablehlo.map"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %z: tensor<i32>):
    %sum = stablehlo.add %x, %z : tensor<i32>
    %twice = stablehlo.add %sum, %sum : tensor<i32>
    stablehlo.return %twice : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[22, 44]> : tensor<2xi32>
  func.return
}
