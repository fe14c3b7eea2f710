module @call {
  func.func private @twice(%x: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %y = stablehlo.add %x, %x : tensor<i32>
    return %x, %y : tensor<i32>, tensor<i32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<21> : tensor<i32>
    %y:2 = call @twice(%x) : (tensor<i32>) -> (tensor<i32>, tensor<i32>)
    check.expect_eq_const %y#1, dense<42> : tensor<i32>
    return
  }
}
