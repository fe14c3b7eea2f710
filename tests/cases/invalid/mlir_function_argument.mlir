// EXPECT: 3:3 argument 0 of its block is f32[3], and its type says f32[2]
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> (), sym_name = "main"}> ({
  ^bb0(%a: tensor<3xf32>):
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
