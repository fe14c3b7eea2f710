// Results whose sizes only one of the branches, or the loop, decides.
func.func private @id(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %r = "stablehlo.if"(%no) ({
    stablehlo.return %a : tensor<2xf32>
  }, {
    stablehlo.return %b : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  %three = tensor.cast %r : tensor<?xf32> to tensor<3xf32>
  check.expect_eq %three, %b : tensor<3xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %loop:2 = "stablehlo.while"(%zero, %a) ({
    ^bb0(%i: tensor<i32>, %v: tensor<?xf32>):
      %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
  }, {
    ^bb0(%i: tensor<i32>, %v: tensor<?xf32>):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %longer = stablehlo.concatenate %v, %a, dim = 0 : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>
      stablehlo.return %next, %longer : tensor<i32>, tensor<?xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<?xf32>)
  %six = tensor.cast %loop#1 : tensor<?xf32> to tensor<6xf32>
  check.expect_eq_const %six, dense<[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]> : tensor<6xf32>
  func.return
}
