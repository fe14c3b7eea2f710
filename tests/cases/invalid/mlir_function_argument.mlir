// EXPECT: 3:3 block argument 0 is f32[3], and the function's type says f32[2]
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> (), sym_name = "main"}> ({
  ^bb0(%a: tensor<3xf32>):
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
