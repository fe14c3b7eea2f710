// Custom calls of portable artifacts that stand for ops of CHLO.
func.func @main() {
  %x = stablehlo.constant dense<[0.25, -0.5, 0.75]> : tensor<3xf32>
  %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq %0, %1 : tensor<3xf32>
  %2 = stablehlo.custom_call @mhlo.sinh(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  %3 = chlo.sinh %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq %2, %3 : tensor<3xf32>
  %4 = stablehlo.custom_call @mhlo.tan(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  %5 = stablehlo.tan %x : tensor<3xf32>
  check.expect_eq %4, %5 : tensor<3xf32>
  %y, %i = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  check.expect_eq_const %y, dense<[0.75, 0.25]> : tensor<2xf32>
  check.expect_eq_const %i, dense<[2, 0]> : tensor<2xi32>
  %z, %j = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 1 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> (tensor<1xf32>, tensor<1xi32>)
  check.expect_eq_const %z, dense<-0.5> : tensor<1xf32>
  check.expect_eq_const %j, dense<1> : tensor<1xi32>
  return
}
