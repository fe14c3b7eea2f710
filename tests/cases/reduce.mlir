func.func @applied() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi64>, tensor<i64>) -> tensor<2xi64>
  check.expect_eq_const %y, dense<[6, 15]> : tensor<2xi64>
  func.return
}

// -----

func.func @two_at_once() {
  %x = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>
  %i = stablehlo.iota dim = 0 : tensor<3xi32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y:2 = stablehlo.reduce(%x init: %least), (%i init: %zero) across dimensions = [0] : (tensor<3xi32>, tensor<3xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    reducer(%a: tensor<i32>, %b: tensor<i32>) (%ai: tensor<i32>, %bi: tensor<i32>) {
      %gt = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %v = stablehlo.select %gt, %a, %b : tensor<i1>, tensor<i32>
      %w = stablehlo.select %gt, %ai, %bi : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<i32>, tensor<i32>
    }
  check.expect_eq_const %y#0, dense<3> : tensor<i32>
  check.expect_eq_const %y#1, dense<0> : tensor<i32>
  func.return
}
