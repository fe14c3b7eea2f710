func.func @running_sum() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %zero = stablehlo.constant dense<0> : tensor<2xi32>
  %y:2 = chlo.scan(%x) inits(%zero) dimension=1 {
  ^bb0(%in: tensor<2xi32>, %sum: tensor<2xi32>):
    %next = stablehlo.add %in, %sum : tensor<2xi32>
    stablehlo.return %next, %next : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[[1, 3, 6], [4, 9, 15]]> : tensor<2x3xi32>
  check.expect_eq_const %y#1, dense<[6, 15]> : tensor<2xi32>
  func.return
}

// -----

func.func @from_the_end() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %y:2 = chlo.scan(%x) inits(%one) dimension=0 attributes {is_reverse = true} {
  ^bb0(%in: tensor<i32>, %product: tensor<i32>):
    %next = stablehlo.multiply %in, %product : tensor<i32>
    stablehlo.return %product, %next : tensor<i32>, tensor<i32>
  } : (tensor<3xi32>, tensor<i32>) -> (tensor<3xi32>, tensor<i32>)
  check.expect_eq_const %y#0, dense<[6, 3, 1]> : tensor<3xi32>
  check.expect_eq_const %y#1, dense<6> : tensor<i32>
  func.return
}
