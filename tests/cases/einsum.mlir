func.func @matrix_product() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %b = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
  %y = stablehlo.einsum %a, %b, config = "ab,bc->ca" : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %y, dense<[[19, 43], [22, 50]]> : tensor<2x2xi64>
  func.return
}

// -----

func.func @batched_with_ellipsis() {
  %a = stablehlo.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi64>
  %b = stablehlo.constant dense<[[[1], [1]], [[2], [2]]]> : tensor<2x2x1xi64>
  %y = stablehlo.einsum %a, %b, config = "...ab,...bc->...ac" : (tensor<2x1x2xi64>, tensor<2x2x1xi64>) -> tensor<2x1x1xi64>
  check.expect_eq_const %y, dense<[[[3]], [[14]]]> : tensor<2x1x1xi64>
  func.return
}

// -----

func.func @sum_of_what_is_not_named() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %b = stablehlo.constant dense<[10, 100]> : tensor<2xi64>
  %y = stablehlo.einsum %a, %b, config = "ab,c->c" : (tensor<2x2xi64>, tensor<2xi64>) -> tensor<2xi64>
  check.expect_eq_const %y, dense<[100, 1000]> : tensor<2xi64>
  func.return
}

// -----

// Products of narrow integers are summed in the result's type.
func.func @wider_result() {
  %a = stablehlo.constant dense<[[100, 100]]> : tensor<1x2xi8>
  %b = stablehlo.constant dense<[[100], [50]]> : tensor<2x1xi8>
  %c = "stablehlo.einsum"(%a, %b) {einsum_config = "ab,bc->ac"} : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi16>
  check.expect_eq_const %c, dense<[[15000]]> : tensor<1x1xi16>
  return
}
