module @as_test_data_has_them {
  func.func private @inputs() -> tensor<2xf32> {
    %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
    return %x : tensor<2xf32>
  }
  func.func private @expected() -> tensor<2xf32> {
    %y = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
    return %y : tensor<2xf32>
  }
  func.func public @main() -> tensor<2xf32> {
    %x = call @inputs() : () -> tensor<2xf32>
    %want = call @expected() : () -> tensor<2xf32>
    %got = stablehlo.abs %x : tensor<2xf32>
    stablehlo.custom_call @check.expect_close(%got, %want) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    stablehlo.custom_call @check.expect_almost_eq(%got, %want) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    stablehlo.custom_call @check.expect_eq(%got, %want) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    %equal = stablehlo.custom_call @check.eq(%got, %want) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>
    %other = stablehlo.custom_call @check.eq(%x, %want) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>
    check.expect_eq_const %equal, dense<true> : tensor<i1>
    check.expect_eq_const %other, dense<false> : tensor<i1>
    return %got : tensor<2xf32>
  }
}
